"""The flags of `trtllm-serve` and the keys of its YAML file.

Source: TensorRT-LLM `commands/serve.py` (early 2026) and `llm_args.py` (1.2, 1.3rc).
"""

from collections.abc import Mapping
from types import MappingProxyType

from controlplane.domain.commands.options import Grammar

ALIASES: Mapping[str, str] = MappingProxyType(
    {
        "tp_size": "tensor_parallel_size",
        "pp_size": "pipeline_parallel_size",
        "cp_size": "context_parallel_size",
        "ep_size": "moe_expert_parallel_size",
        "cluster_size": "moe_cluster_parallel_size",
        "kv_cache_free_gpu_memory_fraction": "free_gpu_memory_fraction",
        "extra_llm_api_options": "config",
        "chat_template_file": "chat_template",
    }
)
"""Second names of flags."""

_GATEWAY = "The gateway listens for this model; engines listen where their agent tells them."
_PARSER = "The config has no setting for parsers of tool calls and reasoning."
_CODE = "Code from a repository is never run; a checkpoint that needs it is refused by the checks."
_TOKENIZER = "The tokenizer and its chat template are the checkpoint's own."
_TOPOLOGY = "Hosts and processes are arranged by the deployment, not by the config."

REASONS: Mapping[str, str] = MappingProxyType(
    {
        "host": _GATEWAY,
        "port": _GATEWAY,
        "log_level": "Logs of engines are collected by their agent.",
        "otlp_traces_endpoint": "Traces of engines are collected by their agent.",
        "reasoning_parser": _PARSER,
        "tool_parser": _PARSER,
        "trust_remote_code": _CODE,
        "custom_module_dirs": _CODE,
        "tokenizer": _TOKENIZER,
        "custom_tokenizer": _TOKENIZER,
        "chat_template": _TOKENIZER,
        "gpus_per_node": _TOPOLOGY,
        "metadata_server_config_file": _TOPOLOGY,
        "server_role": _TOPOLOGY,
        "disagg_cluster_uri": _TOPOLOGY,
        "num_postprocess_workers": "The runtime's driver sets it.",
        "media_io_kwargs": "Only text is planned for.",
        "fail_fast_on_attention_window_too_large": "The checks say it before the start.",
    }
)
"""Flags of the server around the engine -> why they are not carried over."""

ENGINE_KEYS = frozenset(
    {"tensor_parallel_size", "pipeline_parallel_size", "context_parallel_size", "max_seq_len",
     "moe_expert_parallel_size", "moe_cluster_parallel_size", "max_batch_size", "max_num_tokens",
     "max_beam_width", "free_gpu_memory_fraction", "enable_chunked_prefill"}
)  # fmt: skip
"""Flags that are keys of the YAML file as well."""

GRAMMAR = Grammar(
    switches=frozenset(
        {"trust_remote_code", "enable_chunked_prefill", "help",
         "fail_fast_on_attention_window_too_large"}
    ),
    short={f"--{alias}": name for alias, name in ALIASES.items()} | {"-h": "help"},
    names=frozenset(ALIASES) | frozenset(ALIASES.values()) | frozenset(REASONS) | ENGINE_KEYS
    | {"model", "revision", "backend", "config", "help"},
    separator="_",
)  # fmt: skip
