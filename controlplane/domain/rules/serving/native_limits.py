"""EH65: what the native engine cannot do, and settings that have no effect on it or anywhere."""

from collections.abc import Iterator, Mapping
from typing import Any

from controlplane.domain.facts import sources
from controlplane.domain.facts.quantization import FP8_BLOCK
from controlplane.domain.rules.context import Context
from controlplane.domain.rules.examples import BERT, Example, facts
from controlplane.domain.rules.other_runtimes import other_engines
from controlplane.domain.rules.rule import NATIVE, Fix, Patch, Rule, Severity, at
from controlplane.domain.runtimes.capability import Capability, Feature
from controlplane.domain.spec.trt_llm import TrtLlmV2

_SOURCE = sources.enginehouse("native engine, capabilities")
_RUNTIME = "trt_llm.runtime"
_BUILD = "trt_llm.build"
_SPECULATOR = f"{_BUILD}.speculator"
_READABLE = frozenset({
    ("modelopt", "FP8"), ("modelopt", "NVFP4"), ("compressed-tensors", "FP8"),
    ("compressed-tensors", "INT4"),
})  # fmt: skip
"""Ways in which a checkpoint may be quantized, which the loader of the engine emulates."""


def _can(c: Context, feature: Feature) -> Capability:
    return c.engine.capabilities.capability(feature)


def _refused(c: Context, feature: Feature) -> bool:
    return _can(c, feature).is_refused


def _refused_features(c: Context) -> Iterator[tuple[str, Feature]]:
    spec = c.spec
    build = spec.engine_build
    if build.speculator is not None and _refused(c, Feature.LOOKAHEAD):
        yield _SPECULATOR, Feature.LOOKAHEAD
    if build.lora_adapters and _refused(c, Feature.ADAPTERS):
        yield f"{_BUILD}.lora_adapters", Feature.ADAPTERS
    if spec.is_v2 and spec.tensor_parallel > 1 and _refused(c, Feature.TENSOR_PARALLEL):
        yield spec.tensor_parallel_path, Feature.TENSOR_PARALLEL
    if isinstance(spec.trt_llm, TrtLlmV2) and spec.trt_llm.runtime.patch_kwargs:
        yield f"{_RUNTIME}.patch_kwargs", Feature.ENGINE_ARGUMENTS


def _without(c: Context) -> Patch:
    return {path: None for path, _ in _refused_features(c)}


def _refusals(c: Context) -> str:
    return "; ".join(
        f"`{path}` asks for {feature}: {_can(c, feature).how}"
        for path, feature in _refused_features(c)
    )


REFUSED = Rule(
    code="EH651",
    name="feature-that-the-native-engine-lacks",
    severity=Severity.ERROR,
    about_runtime=True,
    runtimes=NATIVE,
    fields=lambda c: tuple(path for path, _ in _refused_features(c)) or (_BUILD,),
    when=lambda c: any(_refused_features(c)),
    message=lambda c: f"The native engine cannot do this: {_refusals(c)}.",
    fix=Fix(label="Do without", patch=_without, safe=False),
    source=_SOURCE,
    bad=Example(
        config={
            "trt_llm.inference_stack": "v2",
            f"{_RUNTIME}.patch_kwargs": {"disable_overlap_scheduler": True},
            f"{_BUILD}.max_seq_len": None,
        }
    ),
    good=Example(),
)

_IN_TRANSFORMERS: Mapping[str, tuple[str, str]] = {
    "new": ("Gte", "alibaba-nlp-community/gte-multilingual-base"),
    "xlm-roberta": ("JinaEmbeddingsV3", "jinaai/jina-embeddings-v3-hf"),
}
"""Model type that remote code has -> the same model as a class of Transformers, and a checkpoint.

Source: transformers 5.24, `models/{gte,jina_embeddings_v3}`, read 2026-11-30.
"""


def _is_jina_v3(c: Context) -> bool:
    """Return whether a class of XLM-RoBERTa's name is really remote code with rotary positions."""
    return c.checkpoint.remote_code and c.checkpoint.model_type == "xlm-roberta"


def _of_remote_code(c: Context) -> str:
    if not c.checkpoint.remote_code:
        return ""
    reason = "Its class is Python of the checkpoint, which this engine never runs. "
    known = _IN_TRANSFORMERS.get(c.checkpoint.model_type or "")
    if known is None:
        return reason
    return f"{reason}Transformers has the model as `{known[0]}`: build from `{known[1]}`. "


POOLING = Rule(
    code="EH652",
    name="encoder-that-native-does-not-pool",
    severity=Severity.ERROR,
    about_runtime=True,
    runtimes=NATIVE,
    needs=("checkpoint",),
    fields=at(f"{_BUILD}.base_model", f"{_BUILD}.checkpoint_repository.repo"),
    concerns=lambda c: c.spec.base_model.is_encoder,
    when=lambda c: not c.engine.pools(c.checkpoint.architecture or "") or _is_jina_v3(c),
    message=lambda c: (
        f"`base_model: {c.spec.base_model}` makes embeddings or scores, and the native engine does "
        f"not make them with `{c.checkpoint.architecture}`. {_of_remote_code(c)}"
        f"{c.engine.pooling_words}"
    ),
    otherwise=other_engines,
    source=_SOURCE,
    bad=Example(
        config={f"{_BUILD}.base_model": "encoder_bert"},
        checkpoint=facts(
            architectures=["NewModel"],
            model_type="new",
            auto_map={"AutoModel": "modeling.NewModel"},
        ),
    ),
    good=Example(config={f"{_BUILD}.base_model": "encoder_bert"}, checkpoint=BERT),
)


_IDLE_RUNTIME: Mapping[str, Any] = {
    "kv_cache_host_memory_bytes": None,
    "enable_chunked_context": True,
    "enable_chunked_prefill": True,
    "lora_cache_max_adapter_size": None,
    "lora_cache_optimal_adapter_size": None,
    "lora_cache_gpu_memory_fraction": None,
    "lora_cache_host_memory_bytes": None,
}
_IDLE_BUILD: Mapping[str, Any] = {
    "gather_all_token_logits": False,
    "strongly_typed": False,
    "max_prompt_embedding_table_size": 0,
    "moe_expert_parallel_option": -1,
    "pipeline_parallel_count": 1,
    "sequence_parallel_count": 1,
    "num_builder_gpus": None,
}
"""Settings that only the GPU runtimes read, each with its default."""
_TARGET_MODULES = f"{_BUILD}.lora_configuration.lora_target_modules"


def _idle_settings(c: Context) -> list[str]:
    build, runtime = c.spec.engine_build, c.spec.trt_llm.runtime
    blocks: tuple[tuple[str, Any, Mapping[str, Any]], ...] = (
        (_RUNTIME, runtime, _IDLE_RUNTIME), (_BUILD, build, _IDLE_BUILD),
    )  # fmt: skip
    idle = [
        f"{place}.{name}"
        for place, settings, defaults in blocks
        for name, default in defaults.items()
        if getattr(settings, name, default) != default
    ]
    if build.lora_configuration and build.lora_configuration.lora_target_modules:
        idle.append(_TARGET_MODULES)
    return idle


WITHOUT_EFFECT = Rule(
    code="EH653",
    name="gpu-settings-on-native",
    severity=Severity.HINT,
    runtimes=NATIVE,
    fields=lambda c: tuple(_idle_settings(c)) or (_BUILD,),
    may_mark=(
        *(f"{_RUNTIME}.{name}" for name in _IDLE_RUNTIME),
        *(f"{_BUILD}.{name}" for name in _IDLE_BUILD),
        _TARGET_MODULES,
    ),
    when=lambda c: bool(_idle_settings(c)),
    message=lambda c: (
        "Without effect on the native engine: "
        + ", ".join(f"`{path}`" for path in _idle_settings(c))
        + "."
    ),
    fix=Fix(
        label="Remove them",
        patch=lambda c: dict.fromkeys(_idle_settings(c)),
        safe=True,
    ),
    source=_SOURCE,
    bad=Example(config={f"{_RUNTIME}.enable_chunked_context": False}),
    good=Example(config={f"{_RUNTIME}.served_model_name": "example"}),
)


def _is_unreadable(c: Context) -> bool:
    existing = c.checkpoint.existing_quantization
    if existing is None:
        return False
    if existing.kv_cache not in (None, "FP8"):
        return True
    if existing.mixes_fp8_and_fp4 or (existing.method == "fp8" and existing.block == FP8_BLOCK):
        return False
    return (existing.method.lower(), (existing.algorithm or "").upper()) not in _READABLE


def _existing(c: Context) -> str:
    existing = c.checkpoint.existing_quantization
    words = (existing.method, existing.algorithm, existing.kv_cache) if existing else ()
    return " ".join(f"`{word}`" for word in words if word)


UNREADABLE_QUANTIZATION = Rule(
    code="EH654",
    name="quantization-that-native-does-not-read",
    severity=Severity.ERROR,
    runtimes=NATIVE,
    needs=("checkpoint",),
    fields=at(f"{_BUILD}.checkpoint_repository.repo"),
    when=_is_unreadable,
    message=lambda c: (
        f"The checkpoint is quantized with {_existing(c)}. The native engine emulates ModelOpt's "
        "FP8, NVFP4 and mixtures of the two, FP8 in blocks of 128, and FP8 and symmetric INT4 of "
        "compressed-tensors; build from the original checkpoint, or name an accelerator."
    ),
    otherwise=other_engines,
    source=_SOURCE,
    bad=Example(checkpoint=facts(quantization_config={"quant_method": "gptq", "bits": 4})),
    good=Example(
        checkpoint=facts(quantization_config={"quant_method": "modelopt", "quant_algo": "FP8"})
    ),
)
