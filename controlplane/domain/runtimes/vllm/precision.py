"""`--quantization` and `--kv-cache-dtype` <-> `quantization_type`.

Source: `reference` of vLLM's quantization methods; the hosted product's migration example turns
`fp8` into `fp8_kv`, which is a different model, so here the reader decides.
"""

from collections.abc import Sequence

from controlplane.domain.commands.draft import Draft
from controlplane.domain.commands.numbers import clean
from controlplane.domain.commands.options import Option
from controlplane.domain.commands.report import Choice
from controlplane.domain.runtimes.vllm.engine_options import Held
from controlplane.domain.spec.choices import QuantizationType

FIELD = "trt_llm.build.quantization_type"
_FP8 = frozenset({"fp8", "ptpc_fp8", "fp8_per_tensor", "fp8_per_block", "fp8_per_channel"})
_IN_BLOCKS = "fp8_per_block"
_CHECKPOINTS_OWN = frozenset(
    {"modelopt", "modelopt_fp4", "modelopt_mixed", "modelopt_mxfp8", "nvfp4", "compressed-tensors",
     "awq", "awq_marlin", "gptq", "gptq_marlin", "gptq_bitblas", "gguf", "mxfp4", "fbgemm_fp8",
     "quark", "auto-round", "inc", "aqlm", "hqq", "marlin", "squeezellm", "deepspeedfp"}
)  # fmt: skip
_FP8_CACHES = frozenset({"fp8", "fp8_e4m3", "fp8_inc", "fp8_ds_mla"})
_SIXTEEN_BIT_CACHES = frozenset({"auto", "bfloat16", "float16", "half"})
_CACHE_TYPES = frozenset({"fp8", "bfloat16", "float16"})
_FP8_QUESTION = (
    "`fp8` is 8-bit weights with a 16-bit KV cache, in vLLM and here. The hosted product's "
    "migration example writes `fp8_kv` instead, which also stores the KV cache in 8 bits: twice "
    "the context in the same memory, and a loss that Qwen2 models do not survive. Which one?"
)
_CALIBRATED = (
    "vLLM stores keys and values with a scale of 1 unless the checkpoint brings scales; the build "
    "calibrates them on `quantization_config.calib_dataset`."
)


def carry_precision(draft: Draft, weights: Option | None, cache: Option | None) -> None:
    """Set `quantization_type` from both flags, or ask."""
    kind = clean(weights.value).lower() if weights else ""
    if weights is None or kind in ("none", "null", ""):
        _cache_alone(draft, cache)
    elif weights.value.unknown:
        _ask(draft, weights.text, "The method is set outside of what was pasted.")
        _leave_cache(draft, cache, "Without the weights' precision it has no place.")
    elif kind in _FP8:
        _carry_fp8(draft, weights, cache, kind)
    elif kind in _CHECKPOINTS_OWN:
        draft.change(
            weights.text,
            FIELD,
            "no_quant",
            f"`{kind}` says how the checkpoint is quantized already. The build reads that from the "
            "checkpoint and leaves its weights as they are.",
        )
        _leave_cache(draft, cache, "A quantized checkpoint decides over its KV cache itself.")
    else:
        _carry_on_the_fly(draft, weights, kind)
        _leave_cache(draft, cache, "It goes together with `fp8` or `fp4` weights only.")


def held_cache(weights: Option | None, cache: Option | None) -> tuple[Held, ...]:
    """Return the KV cache's precision where the weights' own does not say it; empty else."""
    kind = clean(weights.value).lower() if weights else "none"
    kept = {"fp8_e4m3": "fp8", "half": "float16"}.get(_cache_kind(cache), _cache_kind(cache))
    is_lone = kind in {"none", "null", "", *_CHECKPOINTS_OWN}
    if cache is None or cache.value.unknown or not is_lone or kept not in _CACHE_TYPES:
        return ()
    return (Held(flag=cache.text, path="kv_cache_config.dtype", value=kept),)


def flags_for(quantization: QuantizationType) -> tuple[tuple[str, ...], bool]:
    """Return the flags that come nearest, and whether they mean the same."""
    match quantization:
        case QuantizationType.NO_QUANT:
            return (), True
        case QuantizationType.FP8:
            return ("--quantization", "fp8"), True
        case QuantizationType.FP8_BLOCK:
            return ("--quantization", _IN_BLOCKS), True
        case QuantizationType.FP8_KV:
            return ("--quantization", "fp8", "--kv-cache-dtype", "fp8"), True
    return (), False


def _carry_fp8(draft: Draft, weights: Option, cache: Option | None, kind: str) -> None:
    kept = _cache_kind(cache)
    if cache is not None and kept in _FP8_CACHES:
        draft.change(f"{weights.text} {cache.text}", FIELD, "fp8_kv", _CALIBRATED)
        return
    if kind == _IN_BLOCKS:
        draft.carry(weights.text, FIELD, QuantizationType.FP8_BLOCK.value)
        _leave_cache(draft, cache, "A 16-bit KV cache is what `fp8_block` means here too.")
        return
    if kind == "fp8":
        draft.carry(weights.text, FIELD, "fp8")
    else:
        draft.change(weights.text, FIELD, "fp8", f"`{kind}` scales more finely than `fp8` does.")
    if cache is not None and kept not in _SIXTEEN_BIT_CACHES:
        _ask_cache(draft, cache, kept)
    else:
        draft.ask(weights.text, FIELD, _FP8_QUESTION, _choices("fp8", "fp8_kv"))
        _leave_cache(draft, cache, "A 16-bit KV cache is what `fp8` means here too.")


def _carry_on_the_fly(draft: Draft, weights: Option, kind: str) -> None:
    """`bitsandbytes` and the like quantize while loading, to formats that no build makes."""
    draft.change(
        weights.text,
        FIELD,
        "no_quant",
        f"`{kind}` quantizes while loading, to a format that builds do not make.",
    )
    _ask(draft, weights.text, f"Which precision instead of `{kind}`?")


def _cache_alone(draft: Draft, cache: Option | None) -> None:
    kept = _cache_kind(cache)
    if cache is None:
        return
    if kept in _SIXTEEN_BIT_CACHES:
        draft.leave(cache.text, "It is what happens without the flag, here too.")
        return
    _ask(
        draft,
        cache.text,
        f"`{kept}` stores the KV cache in fewer bits and leaves the weights alone; a config has no "
        "such type: `fp8_kv` and `fp4_kv` quantize the weights as well, and a checkpoint that is "
        "quantized already decides by itself (`no_quant`). Which one?",
        also=("fp8_kv", "fp4_kv"),
    )


def _ask_cache(draft: Draft, cache: Option, kept: str) -> None:
    draft.ask(
        cache.text,
        FIELD,
        f"`{kept}` keeps keys and values in another 8-bit format than `fp8_kv` (E4M3 with "
        "calibrated scales, on GPUs with FP8 arithmetic). Which KV cache?",
        _choices("fp8", "fp8_kv"),
    )


def _ask(
    draft: Draft, flag: str, question: str, also: Sequence[str] = ("fp8", "fp8_kv", "fp4")
) -> None:
    draft.ask(flag, FIELD, question, _choices("no_quant", *also))


def _choices(*types: str) -> tuple[Choice, ...]:
    return tuple(Choice(label=name, patch={FIELD: name}) for name in types)


def _leave_cache(draft: Draft, cache: Option | None, reason: str) -> None:
    if cache is not None:
        draft.leave(cache.text, reason)


def _cache_kind(cache: Option | None) -> str:
    return clean(cache.value).lower() if cache else ""
