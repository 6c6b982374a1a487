"""Arguments of vLLM that a config does not pass on, and what decides them."""

from collections.abc import Callable, Mapping

from controlplane.domain.runtimes.vllm.chat_parsers import ENGINE_ARGUMENTS
from controlplane.domain.runtimes.vllm.engine_keys import flags_of
from controlplane.domain.runtimes.vllm.flag_reasons import REASONS
from controlplane.domain.runtimes.vllm.own_arguments import PARSERS, own_arguments
from controlplane.domain.spec import Spec
from controlplane.domain.spec.trt_llm import TrtLlmV2

_BUILD = "trt_llm.build"
_RUNTIME = "trt_llm.runtime"
_PATCH = f"{_RUNTIME}.patch_kwargs"
_REPOSITORY = f"{_BUILD}.checkpoint_repository"
_ADAPTERS = f"{_BUILD}.lora_adapters"
_BASE_MODEL = f"{_BUILD}.base_model"
_SPECULATION = (
    "speculative-config", "speculative-model", "num-speculative-tokens", "spec-method",
    "spec-model", "spec-tokens",
)  # fmt: skip


def _limit(name: str) -> Callable[[Spec], str]:
    return lambda spec: f"{spec.limits_path}.{name}"


def _stacked(v1: str, v2: str) -> Callable[[Spec], str]:
    return lambda spec: f"{_PATCH}.{v2}" if spec.is_v2 else v1


def _always(field: str) -> Callable[[Spec], str]:
    return lambda _: field


_MEMORY = _stacked(
    f"{_RUNTIME}.kv_cache_free_gpu_mem_fraction", "kv_cache_config.free_gpu_memory_fraction"
)
_FIELDS: Mapping[str, Callable[[Spec], str]] = {
    "model": _always(f"{_REPOSITORY}.repo"),
    "revision": _always(f"{_REPOSITORY}.revision"),
    "served-model-name": _always(f"{_RUNTIME}.served_model_name"),
    "max-model-len": _limit("max_seq_len"),
    "max-num-seqs": _limit("max_batch_size"),
    "max-num-batched-tokens": _limit("max_num_tokens"),
    "tensor-parallel-size": lambda spec: spec.tensor_parallel_path,
    "pipeline-parallel-size": _stacked(
        f"{_BUILD}.pipeline_parallel_count", "pipeline_parallel_size"
    ),
    "enable-expert-parallel": _stacked(
        f"{_BUILD}.moe_expert_parallel_option", "moe_expert_parallel_size"
    ),
    "quantization": _always(f"{_BUILD}.quantization_type"),
    "kv-cache-dtype": _always(f"{_BUILD}.quantization_type"),
    "gpu-memory-utilization": _MEMORY,
    "kv-cache-memory-bytes": _MEMORY,
    "kv-offloading-size": _stacked(
        f"{_RUNTIME}.kv_cache_host_memory_bytes", "kv_cache_config.host_cache_size"
    ),
    **dict.fromkeys(
        ("enable-chunked-prefill", "disable-chunked-prefill"),
        lambda spec: f"{_RUNTIME}.enable_chunked_{'prefill' if spec.is_v2 else 'context'}",
    ),
    **dict.fromkeys(
        _SPECULATION, _stacked(f"{_BUILD}.speculator", "speculative_config")
    ),
    **dict.fromkeys(("enable-lora", "lora-modules", "default-mm-loras"), _always(_ADAPTERS)),
    "max-lora-rank": _always(f"{_BUILD}.lora_configuration.max_lora_rank"),
    **dict.fromkeys(("runner", "convert", "task"), _always(_BASE_MODEL)),
    "enable-auto-tool-choice": _always("enginehouse.vllm_args.tool-call-parser"),
}  # fmt: skip
_OURS: Mapping[str, str] = {
    "api-key": "Keys are the gateway's: make one under API keys.",
    "hf-token": "The engine reads local files alone; name the secret in `checkpoint_repository`.",
    "config": "Each argument stands in the config by itself.",
    "disable-prefix-caching": "Write `enable-prefix-caching: false`.",
    "watermark-config": "Its key is a secret, and everybody on a host can read command lines.",
    "help": "It is no argument of a server that runs.",
}


def decided_by(spec: Spec, name: str) -> str | None:
    if field := _FIELDS.get(name):
        return field(spec)
    return _passed_on(spec).get(f"--{name}")


def not_passed(name: str) -> str | None:
    return _OURS.get(name) or REASONS.get(name)


def _passed_on(spec: Spec) -> Mapping[str, str]:
    """Return the flags that `patch_kwargs` says already, each with its field."""
    engine = spec.trt_llm
    given = engine.runtime.patch_kwargs if isinstance(engine, TrtLlmV2) else {}
    settings = {flag: f"{_PATCH}.{argument}" for flag, argument in flags_of(given).items()}
    for name, kind in PARSERS.items():
        named = [each for each in ENGINE_ARGUMENTS[kind] if each in given]
        if named and name in own_arguments(spec):
            settings[f"--{name}"] = f"{_PATCH}.{named[0]}"
    return settings
