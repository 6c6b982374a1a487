"""Keys inside the blocks of TensorRT-LLM's YAML, and what each release adds or lacks.

Source: `llm_args.py` of 1.2.1 and of two 1.3 release candidates, checked 2026-11-27.
"""

from collections.abc import Mapping

BLOCKS: Mapping[str, frozenset[str]] = {
    "kv_cache_config": frozenset({
        "attention_dp_events_gather_period_ms", "copy_on_partial_reuse",
        "cross_kv_cache_fraction", "dtype", "enable_block_reuse", "enable_partial_reuse",
        "event_buffer_max_size", "free_gpu_memory_fraction", "host_cache_size",
        "mamba_ssm_cache_dtype", "max_attention_window", "max_gpu_total_bytes", "max_tokens",
        "max_util_for_resume", "onboard_blocks", "secondary_offload_min_priority",
        "sink_token_length", "tokens_per_block", "use_kv_cache_manager_v2", "use_uvm",
    }),
    "scheduler_config": frozenset({
        "capacity_scheduler_policy", "context_chunking_policy", "dynamic_batch_config",
        "enable_prefix_aware_scheduling", "use_python_scheduler", "waiting_queue_policy",
    }),
    "cuda_graph_config": frozenset({
        "batch_sizes", "enable_padding", "max_batch_size",
    }),
    "moe_config": frozenset({
        "backend", "disable_finalize_fusion", "load_balancer", "max_num_tokens",
        "use_low_precision_moe_combine",
    }),
    "nvfp4_gemm_config": frozenset({
        "allowed_backends",
    }),
    "attention_dp_config": frozenset({
        "batching_wait_iters", "enable_balance", "timeout_iters",
    }),
    "cp_config": frozenset({
        "block_size", "cp_anchor_size", "cp_type", "fifo_version", "tokens_per_block",
        "use_nccl_for_alltoall",
    }),
    "torch_compile_config": frozenset({
        "capture_num_tokens", "enable_fullgraph", "enable_inductor",
        "enable_piecewise_cuda_graph", "enable_userbuffers", "max_num_streams",
    }),
    "cache_transceiver_config": frozenset({
        "backend", "kv_transfer_sender_future_timeout_ms", "kv_transfer_timeout_ms",
        "max_tokens_in_buffer", "transceiver_runtime",
    }),
    "kv_connector_config": frozenset({
        "connector_module", "connector_scheduler_class", "connector_worker_class",
    }),
    "peft_cache_config": frozenset({
        "device_cache_percent", "host_cache_size", "lora_prefetch_dir", "max_adapter_size",
        "max_pages_per_block_device", "max_pages_per_block_host", "num_copy_streams",
        "num_device_module_layer", "num_ensure_workers", "num_host_module_layer",
        "num_put_workers", "optimal_adapter_size",
    }),
    "lora_config": frozenset({
        "lora_ckpt_source", "lora_dir", "lora_target_modules", "max_cpu_loras", "max_lora_rank",
        "max_loras", "trtllm_modules_to_hf_modules",
    }),
}  # fmt: skip
"""Block -> the keys that it takes; any other ends the server at start."""

OF_EVERY_DRAFT = frozenset({
        "acceptance_length_threshold", "acceptance_window", "allow_advanced_sampling",
        "draft_len_schedule", "load_format", "max_concurrency", "max_draft_len",
        "max_total_draft_tokens", "speculative_model",
    })  # fmt: skip

DRAFTS: Mapping[str, frozenset[str]] = {
    "NGram": frozenset({
        "is_keep_all", "is_public_pool", "is_use_oldest", "max_matching_ngram_size",
    }),
    "SA": frozenset({
        "enable_global_pool", "max_matching_ngram_size",
    }),
    "Draft_Target": frozenset(),
    "Eagle": frozenset({
        "dynamic_tree_max_topK", "eagle3_layers_to_capture", "eagle3_model_arch",
        "eagle3_one_model", "eagle_choices", "greedy_sampling", "max_non_leaves_per_layer",
        "num_eagle_layers", "posterior_threshold", "use_dynamic_tree",
    }),
    "Eagle3": frozenset({
        "dynamic_tree_max_topK", "eagle3_layers_to_capture", "eagle3_model_arch",
        "eagle3_one_model", "eagle_choices", "greedy_sampling", "max_non_leaves_per_layer",
        "num_eagle_layers", "posterior_threshold", "use_dynamic_tree",
    }),
    "MTP": frozenset({
        "begin_thinking_phase_token", "end_thinking_phase_token", "mtp_eagle_one_model",
        "num_nextn_predict_layers", "num_nextn_predict_layers_from_model_config", "relaxed_delta",
        "relaxed_topk", "use_mtp_vanilla", "use_relaxed_acceptance_for_thinking",
    }),
    "PARD": frozenset({
        "mask_token_id",
    }),
    "SaveState": frozenset({
        "eagle3_layers_to_capture", "file_prefix", "output_directory", "write_interval",
    }),
    "AUTO": frozenset(),
}  # fmt: skip
"""`decoding_type` -> the keys that it adds."""

NOT_IN_1_2: Mapping[str, frozenset[str]] = {
    "cache_transceiver_config": frozenset({"transceiver_runtime"}),
    "scheduler_config": frozenset({"use_python_scheduler", "enable_prefix_aware_scheduling"}),
}
DRAFTS_SINCE_1_3 = frozenset({"SA", "PARD"})
