"""Names that TensorRT-LLM 1.2 takes in its YAML, and those of the hosted product around it.

Source: `TorchLlmArgs` of TensorRT-LLM 1.2.1 and 1.3.0rc, and the public examples, read 2026-11-27.
"""

from collections.abc import Mapping
from types import MappingProxyType

_ENGINE = frozenset(
    {
        "allreduce_strategy", "attention_dp_config", "attn_backend", "backend",
        "batch_wait_max_tokens_ratio", "batch_wait_timeout_iters", "batch_wait_timeout_ms",
        "batched_logits_processor", "cache_transceiver_config", "checkpoint_format",
        "checkpoint_loader", "context_parallel_size", "cp_config", "cuda_graph_config",
        "custom_tokenizer", "decoding_config", "disable_flashinfer_sampling",
        "disable_overlap_scheduler", "dtype", "enable_attention_dp", "enable_autotuner",
        "enable_chunked_prefill", "enable_iter_perf_stats", "enable_iter_req_stats",
        "enable_layerwise_nvtx_marker", "enable_lm_head_tp_in_adp", "enable_lora",
        "enable_min_latency", "enable_sleep", "env_overrides", "force_dynamic_quantization",
        "garbage_collection_gen0_threshold", "gather_generation_logits", "gpus_per_node",
        "guided_decoding_backend", "iter_stats_max_iterations", "kv_cache_config",
        "kv_connector_config", "layer_wise_benchmarks_config", "load_format", "lora_config",
        "max_batch_size", "max_beam_width", "max_input_len", "max_num_tokens", "max_seq_len",
        "max_stats_len", "mm_encoder_only", "model", "model_kwargs", "moe_cluster_parallel_size",
        "moe_config", "moe_expert_parallel_size", "moe_tensor_parallel_size", "mpi_session",
        "num_postprocess_workers", "nvfp4_gemm_config", "orchestrator_type", "otlp_traces_endpoint",
        "peft_cache_config", "perf_metrics_max_requests", "pipeline_parallel_size",
        "postprocess_tokenizer_dir", "pp_partition", "print_iter_log", "ray_placement_config",
        "ray_worker_extension_cls", "reasoning_parser", "request_stats_max_iterations",
        "return_perf_metrics", "revision", "sampler_force_async_worker", "sampler_type",
        "scheduler_config", "skip_tokenizer_init", "sparse_attention_config", "speculative_config",
        "stream_interval", "tensor_parallel_size", "tokenizer", "tokenizer_mode",
        "tokenizer_revision", "torch_compile_config", "trust_remote_code",
        "use_cute_dsl_blockscaling_bmm", "use_cute_dsl_blockscaling_mm",
    }
)  # fmt: skip
_SEEN_IN_EXAMPLES = frozenset(
    {
        "autotuner_enabled", "enable_autotune", "enable_trtllm_sampler", "model_path",
        "chat_processor", "tokenizer_limit_length", "model_level_stop_words", "tool_call_parser",
        "tool_parser",
    }
)  # fmt: skip
ROUTER_ARGUMENTS = frozenset(
    {"b10_routing_config", "b10_disagg_config", "is_disaggregated", "b10_autoscaling_config"}
)
"""Read by the hosted product's router and not by the engine."""
BUILT_FROM_ELSEWHERE: Mapping[str, str] = MappingProxyType(
    {
        "quant_config": "the checkpoint's own files and `quantization_type`",
        "build_config": "nothing any more: no engine is compiled",
        "model": "`checkpoint_repository`",
        "revision": "`checkpoint_repository.revision`",
    }
)
KNOWN_ARGUMENTS = _ENGINE | _SEEN_IN_EXAMPLES | {*BUILT_FROM_ELSEWHERE}
KV_CACHE_TYPES = ("auto", "fp8", "nvfp4", "float16", "bfloat16", "float32")
DECODING_TYPES = (
    "NGram", "SA", "Eagle", "Eagle3", "MTP", "Draft_Target", "PARD", "User_Provided", "AUTO",
    "SaveState", "Medusa", "Lookahead",
)  # fmt: skip
OF_THE_REMOVED_BACKEND = ("Medusa", "Lookahead")
"""Speculation that only compiled engines had."""
