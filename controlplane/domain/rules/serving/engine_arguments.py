"""EH62: `patch_kwargs` of the v2 stack, which reaches the engine as it is written."""

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from controlplane.domain.counted import counted
from controlplane.domain.facts import sources
from controlplane.domain.facts.engine_argument_names import (
    KNOWN_ARGUMENTS,
    KV_CACHE_TYPES,
    ROUTER_ARGUMENTS,
)
from controlplane.domain.facts.overrides import code_keys
from controlplane.domain.rules.context import Context
from controlplane.domain.rules.examples import LLAMA_8B, Config, Example, on_trtllm
from controlplane.domain.rules.rule import GPU_RUNTIMES, TRTLLM, Fix, Patch, Rule, Severity, at
from controlplane.domain.spec.engine_runtime import RuntimeV2
from controlplane.domain.spec.trt_llm import TrtLlmV2

ARGUMENTS = "trt_llm.runtime.patch_kwargs"
V2: Config = {
    "resources.accelerator": "H100",
    "trt_llm.inference_stack": "v2",
    "trt_llm.build.max_seq_len": None,
    "trt_llm.runtime": {},
}
SOURCE = sources.tensorrt_llm("TorchLlmArgs, unknown keys")
_QUANTIZATION = "trt_llm.build.quantization_type"
_MODEL_KWARGS = f"{ARGUMENTS}.model_kwargs"
_KV_TYPE = f"{ARGUMENTS}.kv_cache_config.dtype"


def v2_example(arguments: Config, **changes: Any) -> Example:
    return Example(config={**V2, ARGUMENTS: arguments, **changes}, checkpoint=LLAMA_8B)


def arguments_of(c: Context) -> Mapping[str, Any]:
    """Return the arguments passed to the engine; empty outside the v2 stack."""
    engine = c.spec.trt_llm
    return engine.runtime.patch_kwargs if isinstance(engine, TrtLlmV2) else {}


def argument(c: Context, *path: str) -> Any:
    value: Any = arguments_of(c)
    for name in path:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def kv_cache_type(c: Context) -> str | None:
    given = argument(c, "kv_cache_config", "dtype")
    return given.lower() if isinstance(given, str) else None


def kv_cache_fields(c: Context) -> tuple[str, ...]:
    """Return where keys and values are asked for in 8 bits or less."""
    return (_QUANTIZATION,) if c.spec.quantization_type.quantizes_kv_cache else (_KV_TYPE,)


def quantizes_kv_cache(c: Context) -> bool:
    """Return whether keys and values are kept in 8 bits or less, by either way of asking."""
    return c.spec.quantization_type.quantizes_kv_cache or kv_cache_type(c) in ("fp8", "nvfp4")


def without_quantized_kv(c: Context) -> Patch:
    """Return the patch that keeps keys and values in 16 bits and the weights as they are."""
    patch: dict[str, Any] = {}
    if c.spec.quantization_type.quantizes_kv_cache:
        patch[_QUANTIZATION] = c.spec.quantization_type.precision.with_plain_kv
    if kv_cache_type(c) is not None:
        patch[_KV_TYPE] = "auto"
    return patch


def _shadowing(c: Context) -> list[str]:
    own = {*RuntimeV2.model_fields, "gated_features"}
    return [name for name in arguments_of(c) if name in own]


def _unknown(c: Context) -> list[str]:
    known = KNOWN_ARGUMENTS | ROUTER_ARGUMENTS | {*_shadowing(c)}
    return [name for name in arguments_of(c) if name not in known]


def _with_meant(c: Context) -> str:
    words = []
    for name in _unknown(c):
        close = get_close_matches(name, KNOWN_ARGUMENTS, n=1, cutoff=0.7)
        words.append(f"`{name}`" + (f" (did you mean `{close[0]}`?)" if close else ""))
    return ", ".join(words)


def without(names: list[str]) -> Patch:
    return {f"{ARGUMENTS}.{name}": None for name in names}


def _router(c: Context) -> list[str]:
    return [name for name in arguments_of(c) if name in ROUTER_ARGUMENTS]


def _is_half_divided(c: Context) -> bool:
    return bool(argument(c, "is_disaggregated")) is not isinstance(
        argument(c, "b10_disagg_config"), Mapping
    )


SHADOWED = Rule(
    code="EH620",
    name="arguments-that-shadow-settings",
    severity=Severity.WARNING,
    runtimes=GPU_RUNTIMES,
    fields=lambda c: tuple(f"{ARGUMENTS}.{name}" for name in _shadowing(c)) or (ARGUMENTS,),
    when=lambda c: bool(_shadowing(c)),
    message=lambda c: (
        "Settings of `trt_llm.runtime` that `patch_kwargs` writes again: "
        + ", ".join(f"`{name}`" for name in _shadowing(c))
        + ". The engine would follow the argument, and checks and plan follow the setting."
    ),
    fix=Fix(label="Keep the settings", patch=lambda c: without(_shadowing(c)), safe=False),
    source=sources.truss("trt_llm_config.py, patch_kwargs"),
    bad=v2_example({"max_seq_len": 4096}),
    good=v2_example({"disable_overlap_scheduler": True}),
)

UNKNOWN = Rule(
    code="EH621",
    name="unknown-engine-arguments",
    severity=Severity.WARNING,
    runtimes=TRTLLM,
    fields=lambda c: tuple(f"{ARGUMENTS}.{name}" for name in _unknown(c)) or (ARGUMENTS,),
    when=lambda c: bool(_unknown(c)),
    message=lambda c: (
        f"TensorRT-LLM 1.2 has no argument {_with_meant(c)}, and its server fails to start with an "
        "argument that it does not know, so it is left out."
    ),
    fix=Fix(label="Remove them", patch=lambda c: without(_unknown(c)), safe=False),
    source=SOURCE,
    bad=on_trtllm(v2_example({"kv_cach_config": {}})),
    good=on_trtllm(v2_example({"kv_cache_config": {"enable_block_reuse": True}})),
)

PREVIEW = Rule(
    code="EH622",
    name="arguments-passed-as-given",
    severity=Severity.HINT,
    runtimes=GPU_RUNTIMES,
    fields=at(ARGUMENTS),
    when=lambda c: bool(arguments_of(c)),
    message=lambda c: (
        f"Passed on as written: {counted(len(arguments_of(c)), 'engine argument')}. Names are "
        "checked, their values mostly are not. The hosted product calls them a preview."
    ),
    source=sources.truss("trt_llm_config.py, patch_kwargs"),
    bad=v2_example({"enable_iter_perf_stats": True}),
    good=Example(config=V2, checkpoint=LLAMA_8B),
)

REMOTE_CODE = Rule(
    code="EH623",
    name="trusted-remote-code",
    severity=Severity.WARNING,
    runtimes=GPU_RUNTIMES,
    fields=at(f"{ARGUMENTS}.trust_remote_code"),
    when=lambda c: argument(c, "trust_remote_code") is True,
    message=lambda _: (
        "`trust_remote_code` asks the engine to run Python from the checkpoint. Here an admin's "
        "grant for the repository's commit decides that, so the argument has no effect."
    ),
    fix=Fix(label="Remove it", patch=lambda _: {f"{ARGUMENTS}.trust_remote_code": None}, safe=True),
    source=sources.truss("checkpoint layout, no remote code"),
    bad=v2_example({"trust_remote_code": True}),
    good=v2_example({"trust_remote_code": False}),
)


def _code_keys(c: Context) -> tuple[str, ...]:
    return tuple(f"{_MODEL_KWARGS}.{path}" for path in code_keys(c.spec.model_kwargs))


OVERRIDES_WITH_CODE = Rule(
    code="EH649",
    name="overrides-that-load-code",
    severity=Severity.ERROR,
    runtimes=GPU_RUNTIMES,
    fields=lambda c: _code_keys(c) or (_MODEL_KWARGS,),
    when=lambda c: bool(_code_keys(c)),
    message=lambda c: (
        ", ".join(f"`{path.removeprefix(f'{ARGUMENTS}.')}`" for path in _code_keys(c))
        + " would make the engine import code or open files that no build has seen. What "
        "`model_kwargs` may change are values of config.json."
    ),
    fix=Fix(label="Remove them", patch=lambda c: dict.fromkeys(_code_keys(c)), safe=False),
    source=sources.enginehouse("remote code, overrides of config.json"),
    bad=v2_example({"model_kwargs": {"auto_map": {"AutoModel": "other/repo--modeling.Model"}}}),
    good=v2_example({"model_kwargs": {"max_position_embeddings": 65_536}}),
)

KV_TYPE = Rule(
    code="EH624",
    name="unknown-kv-cache-type",
    severity=Severity.ERROR,
    runtimes=GPU_RUNTIMES,
    fields=at(_KV_TYPE),
    when=lambda c: kv_cache_type(c) is not None and kv_cache_type(c) not in KV_CACHE_TYPES,
    message=lambda c: (
        f"`{argument(c, 'kv_cache_config', 'dtype')}` is no precision of the KV cache. Allowed: "
        + ", ".join(f"`{name}`" for name in KV_CACHE_TYPES)
        + "."
    ),
    fix=Fix(label="Leave it to the engine", patch=lambda _: {_KV_TYPE: "auto"}, safe=False),
    source=sources.tensorrt_llm("KvCacheConfig, dtype"),
    bad=v2_example({"kv_cache_config": {"dtype": "nonsense"}}),
    good=v2_example({"kv_cache_config": {"dtype": "fp8"}}),
)

ROUTER = Rule(
    code="EH625",
    name="routing-of-the-hosted-product",
    severity=Severity.WARNING,
    runtimes=GPU_RUNTIMES,
    fields=lambda c: tuple(f"{ARGUMENTS}.{name}" for name in _router(c)) or (ARGUMENTS,),
    when=lambda c: bool(_router(c)),
    message=lambda c: (
        "KV-aware routing and disaggregated serving are the hosted product's own, and the gateway "
        "here has neither: "
        + ", ".join(f"`{name}`" for name in _router(c))
        + " has no effect. One page calls routing on by default, another gated."
    ),
    fix=Fix(label="Remove them", patch=lambda c: without(_router(c)), safe=True),
    source=sources.engines_overview("Feature availability, KV-routing"),
    bad=v2_example({"b10_routing_config": {"router_queue_policy": "fcfs"}}),
    good=v2_example({}),
)

HALF_DIVIDED = Rule(
    code="EH626",
    name="half-of-disaggregated-serving",
    severity=Severity.ERROR,
    runtimes=GPU_RUNTIMES,
    fields=at(f"{ARGUMENTS}.is_disaggregated", f"{ARGUMENTS}.b10_disagg_config"),
    when=_is_half_divided,
    message=lambda _: (
        "`is_disaggregated` and `b10_disagg_config` go together; one without the other is refused."
    ),
    fix=Fix(
        label="Serve in one piece",
        patch=lambda _: without(["is_disaggregated", "b10_disagg_config"]),
        safe=True,
    ),
    source=sources.engines_overview("Feature availability, disaggregated serving"),
    bad=v2_example({"is_disaggregated": True}),
    good=v2_example({"is_disaggregated": False}),
)
