"""TensorRT-LLM's complaints about arguments: values, drafts, and what does not go together."""

from controlplane.domain.failures import Blame, fields
from controlplane.domain.failures.pattern import log_pattern

_T = "NVIDIA/TensorRT-LLM"
_ARGUMENTS = "TensorRT-LLM 1.2, llmapi/llm_args.py"
_CREATOR = "TensorRT-LLM 1.2, _torch/pyexecutor/py_executor_creator.py"
_CONFIG = Blame.CONFIGURATION
_PATCH = "trt_llm.runtime.patch_kwargs"
_DRAFTS = f"{_PATCH}.speculative_config"

PATTERNS = (
    log_pattern(
        "ETR-VALUE", _CONFIG,
        r"validation errors? for \w+\n(?P<name>[\w.]+)\n\s+"
        r"(?:Input|Value error, kv_cache_config\.\w+) (?:should|must) (?P<what>[^\n]+?) \[type=",
        "`{name}` is not what TensorRT-LLM takes there: it should {what}.",
        "Write a value that it takes, or remove the argument.",
        text="pydantic_core._pydantic_core.ValidationError: 1 validation error for TorchLlmArgs\n"
        "moe_config.backend\n  Input should be 'CUTLASS', 'CUTEDSL' or 'TRTLLM' "
        "[type=literal_error, input_value='MARLIN', input_type=str]",
        source=_ARGUMENTS, field=_PATCH,
    ),
    log_pattern(
        "ETR-DRAFT-LENGTHS", _CONFIG,
        r"draft_len_schedule(?:\[1\] must equal max_draft_len|: all draft lengths must be|"
        r": (?:batch size threshold|draft length) must be)",
        "draft_len_schedule and max_draft_len do not agree.",
        "Give the key 1 the value of max_draft_len, no other key a larger one, and none below 0.",
        text="ValueError: draft_len_schedule[1] must equal max_draft_len for consistency. Got "
        "schedule[1]=4, but max_draft_len=8.",
        source=_ARGUMENTS, field=_DRAFTS,
    ),
    log_pattern(
        "ETR-DRAFT-TREE", _CONFIG,
        r"use_dynamic_tree should be False|eagle_choices should be None|"
        r"(?P<name>dynamic_tree_max_topK|max_total_draft_tokens|max_draft_len) should be provided",
        "The tree of drafts is not described completely, or in two ways.",
        "With use_dynamic_tree set max_draft_len, max_total_draft_tokens and "
        "dynamic_tree_max_topK, and leave eagle_choices out.",
        text="ValueError: dynamic_tree_max_topK should be provided, which indicates the number of "
        "nodes to expand each time",
        source=_ARGUMENTS, field=_DRAFTS,
    ),
    log_pattern(
        "ETR-LOAD-FORMAT", _CONFIG, r"Invalid LoadFormat: (?P<name>\S+)",
        "TensorRT-LLM has no way of loading weights that is called `{name}`.",
        "Remove load_format: it is told from the files.",
        text="ValueError: Invalid LoadFormat: safetensor", source=_ARGUMENTS,
        field=f"{_PATCH}.load_format",
    ),
    log_pattern(
        "ETR-EXPERT-BALANCE", _CONFIG,
        r"MoE load balancer config file not found|Failed to load MoE load balancer config",
        "moe_config.load_balancer cannot be read.",
        "Write its settings themselves there, not the place of a file, or leave it out.",
        text="FileNotFoundError: MoE load balancer config file not found: /data/moe.yaml",
        source=_ARGUMENTS, field=f"{_PATCH}.moe_config",
    ),
    log_pattern(
        "ETR-TOKENS-OF-A-BLOCK", _CONFIG,
        r"cp_config\.tokens_per_block \((?P<one>\d+)\) must match "
        r"kv_cache_config\.tokens_per_block \((?P<other>\d+)\)",
        "Blocks of {one} tokens are asked for in cp_config, and of {other} in kv_cache_config.",
        "Write one number in both.",
        text="AssertionError: When HELIX parallelism is active, cp_config.tokens_per_block (32) "
        "must match kv_cache_config.tokens_per_block (64).",
        source=_ARGUMENTS, field=_PATCH,
    ),
    log_pattern(
        "ETR-ORCHESTRATOR", _CONFIG,
        r"(?P<name>ray_\w+) is only supported with orchestrator_type",
        "`{name}` is for Ray, which starts nothing here.", "Remove it.",
        text="ValueError: ray_placement_config is only supported with orchestrator_type='ray'",
        source=_ARGUMENTS, field=_PATCH,
    ),
    log_pattern(
        "ETR-GUIDED-LIBRARY", _CONFIG, r"Unsupported guided decoding backend (?P<name>\S+)",
        "TensorRT-LLM has no grammar library called `{name}`.",
        "Set guided_decoding_backend to xgrammar or llguidance.",
        text="ValueError: Unsupported guided decoding backend outlines", source=_CREATOR,
        field=f"{_PATCH}.guided_decoding_backend",
    ),
    log_pattern(
        "ETR-FEATURES-TOGETHER", _CONFIG,
        r"(?P<one>\w+) and (?P<other>\w+) enabled together is not supported yet",
        "{one} and {other} do not go together.", "Leave one of the two out.",
        text="ValueError: trtllm_sampler and mtp enabled together is not supported yet. Please "
        "use sampler type auto instead.",
        source="TensorRT-LLM 1.2, _torch/pyexecutor/_util.py", field=_PATCH,
    ),
    log_pattern(
        "ETR-ADAPTER-RANK", _CONFIG,
        r"Invalid low_rank \((?P<rank>\d+)\)[^\n]*mMaxLowRank \((?P<most>\d+)\)",
        "An adapter has rank {rank}, and the engine takes {most} at most.",
        "Raise max_lora_rank to {rank}, or use an adapter of a smaller rank.",
        text="[TensorRT-LLM][ERROR] Assertion failed: Invalid low_rank (1024). low_rank must be "
        "smaller than mMaxLowRank (64)",
        source=f"{_T}#1903", field="trt_llm.build.lora_configuration.max_lora_rank",
    ),
    log_pattern(
        "ETR-SINKS", Blame.MACHINE, r"attention sinks is only supported on (?P<on>SM\d+)",
        "The model has attention sinks, and this version computes them on {on} alone.",
        "Use such a GPU, a newer TensorRT-LLM, or vLLM.",
        text="[TensorRT-LLM][ERROR] Assertion failed: The attention sinks is only supported on "
        "SM90", source=f"{_T}#6892", field=fields.ACCELERATOR,
    ),
    log_pattern(
        "ETR-FP8-BLOCKS", Blame.MACHINE, r"fp8 blockscale gemm only support (?P<on>\w+)",
        "The weights are FP8 in blocks, and this version computes them on {on} alone.",
        "Use such a GPU, or a newer TensorRT-LLM.",
        text="RuntimeError: fp8 blockscale gemm only support Hopper. (/src/tensorrt_llm/cpp/)",
        source=f"{_T}#5064", field=fields.ACCELERATOR,
    ),
)  # fmt: skip
