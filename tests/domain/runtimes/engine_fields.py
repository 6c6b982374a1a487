"""Every field of the engine blocks, with a value that is not its default."""

from typing import Any

PLACE = {"source": "HF", "repo": "owner/name"}
LOOKAHEAD = {"speculative_decoding_mode": "LOOKAHEAD_DECODING", "lookahead_windows_size": 1,
              "lookahead_ngram_size": 8, "lookahead_verification_set_size": 1}  # fmt: skip
BUILD: dict[str, Any] = {
    "base_model": "encoder", "checkpoint_repository": PLACE, "max_seq_len": 2048,
    "max_batch_size": 3, "max_num_tokens": 4096, "max_beam_width": 1,
    "max_prompt_embedding_table_size": 4, "gather_all_token_logits": True, "strongly_typed": True,
    "quantization_type": "fp8_kv", "quantization_config": {"calib_size": 128},
    "tensor_parallel_count": 2, "pipeline_parallel_count": 2, "sequence_parallel_count": 2,
    "moe_expert_parallel_option": 2, "plugin_configuration": {"paged_kv_cache": False},
    "num_builder_gpus": 2, "speculator": LOOKAHEAD, "lora_adapters": {"x": PLACE},
    "lora_configuration": {"max_lora_rank": 8}, "skip_build_result": True,
}  # fmt: skip
RUNTIME_V1: dict[str, Any] = {
    "kv_cache_free_gpu_mem_fraction": 0.5, "kv_cache_host_memory_bytes": 1 << 30,
    "enable_chunked_context": False, "batch_scheduler_policy": "max_utilization",
    "request_default_max_tokens": 9, "served_model_name": "name", "total_token_limit": 7,
    "webserver_default_route": "/predict", "lora_cache_max_adapter_size": 8,
    "lora_cache_optimal_adapter_size": 8, "lora_cache_gpu_memory_fraction": 0.1,
    "lora_cache_host_memory_bytes": 1 << 20,
}  # fmt: skip
RUNTIME_V2: dict[str, Any] = {
    "max_seq_len": 2048, "max_batch_size": 3, "max_num_tokens": 4096, "tensor_parallel_size": 2,
    "enable_chunked_prefill": False, "served_model_name": "name",
    "patch_kwargs": {"stream_interval": 4},
}  # fmt: skip
INNER: dict[str, Any] = {
    "lora_configuration.max_lora_rank": 100,
    "lora_configuration.lora_target_modules": ["attn_q"],
    "plugin_configuration.paged_kv_cache": False,
    "plugin_configuration.use_paged_context_fmha": False,
    "plugin_configuration.use_fp8_context_fmha": True,
}
OURS: dict[str, Any] = {
    "runtime": "vllm", "gate": {"enabled": False}, "calibration": {"samples": 8},
    "draft_factor": 2, "undrafted_share": 0.1, "generic_tools": True, "shared_prefixes": True,
    "extra_routes": ["/tokenizer_info"], "pool": "fast", "dtype": "bfloat16",
    "rerank_template": "qwen3",
    "vllm_args": {"max-logprobs": 5},
}  # fmt: skip


def all_fields() -> list[tuple[str, str, Any]]:
    """Give back stack, path and another value than the default of every field."""
    rows = [("v1", f"trt_llm.build.{name}", value) for name, value in BUILD.items()]
    rows += [("v1", f"trt_llm.build.{name}", value) for name, value in INNER.items()]
    rows += [("v1", f"trt_llm.runtime.{name}", value) for name, value in RUNTIME_V1.items()]
    rows += [("v2", f"trt_llm.runtime.{name}", value) for name, value in RUNTIME_V2.items()]
    return rows + [("v1", f"enginehouse.{name}", value) for name, value in OURS.items()]
