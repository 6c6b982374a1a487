"""Settings that the native engine is not told, and why; and those that it alone reads."""

from collections.abc import Mapping
from types import MappingProxyType

_ADAPTERS = "It holds every adapter of the config in memory."
_ONE_DEVICE = "It computes on one GPU, or on the CPU."
_PIECES = "It always takes a long prompt in pieces."

REASONS: Mapping[str, str] = MappingProxyType(
    {
        "trt_llm.build.lora_configuration.lora_target_modules": (
            "It reads the target modules from each adapter."
        ),
        "trt_llm.runtime.kv_cache_host_memory_bytes": (
            "It keeps keys and values where it computes."
        ),
        "trt_llm.runtime.patch_kwargs": "It takes no arguments of other engines.",
        **dict.fromkeys(
            ("trt_llm.runtime.enable_chunked_context", "trt_llm.runtime.enable_chunked_prefill"),
            _PIECES,
        ),
        **dict.fromkeys(
            (f"trt_llm.build.{name}" for name in
             ("tensor_parallel_count", "pipeline_parallel_count", "sequence_parallel_count",
              "moe_expert_parallel_option")), _ONE_DEVICE),
        "trt_llm.runtime.tensor_parallel_size": _ONE_DEVICE,
        **dict.fromkeys(
            (f"trt_llm.runtime.lora_cache_{name}" for name in
             ("max_adapter_size", "optimal_adapter_size", "gpu_memory_fraction",
              "host_memory_bytes")), _ADAPTERS),
    }
)  # fmt: skip
READ: Mapping[str, str] = MappingProxyType(
    dict.fromkeys(
        ("enginehouse.dtype", "enginehouse.generic_tools", "enginehouse.rerank_template",
         "enginehouse.draft_factor", "enginehouse.undrafted_share",
         "trt_llm.runtime.total_token_limit"),
        "It is told by a flag.",
    )
)  # fmt: skip
"""Settings that no other engine is told."""
