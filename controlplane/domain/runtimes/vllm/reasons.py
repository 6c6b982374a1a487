"""Settings that vLLM has no counterpart for, and why."""

from collections.abc import Mapping
from types import MappingProxyType

_LORA_CACHE = "vLLM sizes its cache of adapters from their number and rank."
SEQUENCE_REASON = "vLLM does not start an encoder on inputs longer than its checkpoint reads."

REASONS: Mapping[str, str] = MappingProxyType(
    {
        "trt_llm.runtime.batch_scheduler_policy": (
            "vLLM always admits what fits now and interrupts the youngest request when the KV "
            "cache is full, as `max_utilization` does."
        ),
        "trt_llm.build.sequence_parallel_count": "vLLM spreads a sequence in another way.",
        "trt_llm.build.moe_expert_parallel_option": (
            "vLLM spreads experts over all GPUs of the tensor parallel size."
        ),
        "trt_llm.build.lora_configuration.lora_target_modules": (
            "vLLM reads the target modules from each adapter."
        ),
        **dict.fromkeys(
            (f"trt_llm.runtime.lora_cache_{name}" for name in
             ("max_adapter_size", "optimal_adapter_size", "gpu_memory_fraction",
              "host_memory_bytes")), _LORA_CACHE),
    }
)  # fmt: skip

TOLD_ALONE: Mapping[str, str] = MappingProxyType(
    {"enginehouse.vllm_args": "They are its own arguments."}
)
