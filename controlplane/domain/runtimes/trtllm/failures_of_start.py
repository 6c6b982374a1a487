"""TensorRT-LLM's complaints while its executor is made: memory, settings, processes."""

from controlplane.domain.failures import Blame, fields
from controlplane.domain.failures.pattern import log_pattern
from controlplane.domain.runtimes.engine_log import (
    KV_FRACTION,
    LENGTH,
    SPECULATOR,
    TENSOR_PARALLEL,
    TOKENS,
    chunked_prefill,
    half,
    less_kv_cache,
    no_drafts,
)

_T = "NVIDIA/TensorRT-LLM"
_CREATOR = "TensorRT-LLM 1.2, _torch/pyexecutor/py_executor_creator.py"
_ARGUMENTS = "TensorRT-LLM 1.2, llmapi/llm_args.py"
_CONFIG, _MACHINE, _OURS = Blame.CONFIGURATION, Blame.MACHINE, Blame.OURS
_PATCH = "trt_llm.runtime.patch_kwargs"
_DRAFTS = f"{_PATCH}.speculative_config"
_TOKENS = f"trt_llm.build.{TOKENS}"
_COMPONENT = r"The following component could not be created: "

PATTERNS = (
    log_pattern(
        "ETR-MEMORY-MODEL", _CONFIG, _COMPONENT + r"Model\s*(?:\n|$)",
        "The weights do not fit the GPU.",
        "Use more GPUs, or a lower precision.",
        text="Executor creation failed due to insufficient GPU memory.\n\nThe following component "
        "could not be created: Model\nTotal GPU memory (GiB): 79.10",
        source=_CREATOR, field=TENSOR_PARALLEL,
    ),
    log_pattern(
        "ETR-MEMORY-KV-CACHE", _CONFIG, _COMPONENT + r"KV cache",
        "There is no room for the KV cache that was asked for.",
        "Lower the share of memory that it takes.",
        text="The following component could not be created: KV cache\nTotal GPU memory (GiB): 79.1",
        source=_CREATOR, field=KV_FRACTION, fix=less_kv_cache,
    ),
    log_pattern(
        "ETR-MEMORY-STEP", _CONFIG,
        _COMPONENT + r"(?:Initial KV [Cc]ache|Model resources created during usage)",
        "A step of max_num_tokens does not fit beside the weights.",
        "Lower max_num_tokens.",
        text="The following component could not be created: Model resources created during usage",
        source=_CREATOR, field=_TOKENS, fix=half(TOKENS),
    ),
    log_pattern(
        "ETR-MEMORY-SAMPLER", _CONFIG, _COMPONENT + r"(?P<what>Sampler|Drafter|Guided Decoder)",
        "There is no room for the {what}.",
        "Lower max_seq_len, or the number of drafted tokens.",
        text="The following component could not be created: Sampler\nTotal GPU memory (GiB): 22.0",
        source=_CREATOR, field=f"trt_llm.build.{LENGTH}", fix=half(LENGTH),
    ),
    log_pattern(
        "ETR-MEMORY-DRAFT-MODEL", _CONFIG, _COMPONENT + r"Draft model",
        "The draft model does not fit beside the model.",
        "Draft by n-grams, which need no weights, or use more GPUs.",
        text="The following component could not be created: Draft model for speculative decoding",
        source=_CREATOR, field=_DRAFTS, fix=no_drafts,
    ),
    log_pattern(
        "ETR-MEMORY-REST", _CONFIG, _COMPONENT + r"Additional executor resources",
        "CUDA graphs and buffers did not fit beside the KV cache.",
        "Leave more memory free of it.",
        text="The following component could not be created: Additional executor resources\nTotal "
        "GPU memory (GiB): 95.00",
        source=f"{_T}#5950", field=KV_FRACTION, fix=less_kv_cache,
    ),
    log_pattern(
        "ETR-LOADING-OUT-OF-MEMORY", _CONFIG,
        r"Error executing load_single_module[^\n]*out of memory|"
        r"OutOfMemoryError: CUDA out of memory",
        "The GPU ran out of memory while weights were loaded.",
        "Use more GPUs or a lower precision; check that nobody else is on the GPU.",
        text="[TRT-LLM] [RANK 2] [E] Error executing load_single_module with args "
        "('model.layers.9.mlp.gate_up_proj', Linear()): CUDA out of memory.",
        source=f"{_T}#7818", field=fields.ACCELERATOR,
    ),
    log_pattern(
        "ETR-NCCL", _MACHINE, r"Executor creation failed with NCCL error|Failed, NCCL error",
        "The GPUs could not be brought to talk to each other.",
        "Give the engine more shared memory (`ipc: host`), check the topology, or try "
        "`NCCL_P2P_DISABLE=1`.",
        text="Executor creation failed with NCCL error: Failed, NCCL error /src/ncclUtils.cpp "
        "'unhandled cuda error'",
        source="triton-inference-server/tensorrtllm_backend#596",
    ),
    log_pattern(
        "ETR-MPI-SLOTS", _MACHINE,
        r"not enough slots available in the system to satisfy the (?P<slots>\d+)",
        "MPI may not start {slots} processes here.",
        "Let MPI oversubscribe (`OMPI_MCA_rmaps_base_oversubscribe=1`), or ask for fewer GPUs.",
        text="There are not enough slots available in the system to satisfy the 2 slots",
        source=f"{_T}#5854", field=TENSOR_PARALLEL,
    ),
    log_pattern(
        "ETR-MPI-ABORT", _OURS, r"MPI_ABORT was invoked on rank (?P<rank>\d+)",
        "Rank {rank} ended, and MPI ended the others.",
        "Read the lines of that rank above it in the deployment's log.",
        text="MPI_ABORT was invoked on rank 2 in communicator MPI_COMM_WORLD with errorcode 1.",
        source=f"{_T}#2813",
    ),
    log_pattern(
        "ETR-UCX", _MACHINE, r"UCP API version is incompatible: required >= (?P<needs>[\d.]+)",
        "The UCX of this host is older than {needs}, which the ranks talk over.",
        "Use the container's own UCX: take other folders out of LD_LIBRARY_PATH.",
        text="ucp_context.c:2339 UCX  WARN  UCP API version is incompatible: required >= 1.20, "
        "actual 1.19.0 (loaded from /usr/local/ucx//lib/libucp.so.0)",
        source=f"{_T}#9680",
    ),
    log_pattern(
        "ETR-NO-CARD", _MACHINE, r"No GPU devices found on the node",
        "The engine sees no GPU.", "Check `nvidia-smi` on the host.",
        text="RuntimeError: No GPU devices found on the node",
        source="TensorRT-LLM 1.2, llmapi/llm_args.py", field=fields.ACCELERATOR,
    ),
    log_pattern(
        "ETR-PORT", _MACHINE, r"Failed to bind socket to (?P<address>\S+)",
        "The engine's port is taken: {address}.", "The next attempt takes another port.",
        text="RuntimeError: Failed to bind socket to 127.0.0.1:8000: address in use",
        source="TensorRT-LLM 1.2, commands/serve.py",
    ),
    log_pattern(
        "ETR-UNKNOWN-ARGUMENT", _CONFIG,
        r"(?P<name>[\w.]+)\n\s+Extra inputs are not permitted",
        "TensorRT-LLM has no argument `{name}`.",
        "Remove it from patch_kwargs, or use a version that has it.",
        text="pydantic_core._pydantic_core.ValidationError: 1 validation error for TorchLlmArgs\n"
        "kv_cach_config\n  Extra inputs are not permitted [type=extra_forbidden]",
        source=_ARGUMENTS, field=_PATCH,
    ),
    log_pattern(
        "ETR-DRAFTS-ON-BACKEND", _CONFIG,
        r"Speculation type (?P<kind>\w+) does not support backend (?P<backend>\w+)",
        "`{kind}` drafts only in engines that are no longer compiled.",
        "Draft with NGram, SA, Eagle3 or MTP.",
        text="ValueError: Speculation type Lookahead does not support backend pytorch",
        source=_ARGUMENTS, field=_DRAFTS, fix=no_drafts,
    ),
    log_pattern(
        "ETR-DRAFT-LENGTH", _CONFIG, r"max_draft_len must be > 0 for (?P<kind>\w+)",
        "`{kind}` drafts one token or more.", "Set max_draft_len.",
        text="ValueError: max_draft_len must be > 0 for NGram", source=_ARGUMENTS, field=_DRAFTS,
    ),
    log_pattern(
        "ETR-DRAFT-MODEL", _CONFIG, r"Draft model must be provided for (?P<kind>\w+)",
        "{kind} drafts with a model of its own, and none is named.",
        "Set speculative_model_dir.",
        text="ValueError: Draft model must be provided for EAGLE", source=_ARGUMENTS, field=_DRAFTS,
    ),
    log_pattern(
        "ETR-DRAFT-SCHEDULE", _CONFIG, r"draft_len_schedule must include batch_size=1",
        "draft_len_schedule says nothing of a batch of one.", "Add the key 1.",
        text="ValueError: draft_len_schedule must include batch_size=1 as a starting point",
        source=_ARGUMENTS, field=_DRAFTS,
    ),
    log_pattern(
        "ETR-OLD-GPU", _CONFIG, r"Assertion failed: Unsupported [Aa]rch(?:itecture)?\b",
        "TensorRT-LLM has no kernels for this GPU.",
        "Use an Ampere GPU or a newer one, or vLLM, which serves Turing too.",
        text="RuntimeError: [TensorRT-LLM][ERROR] Assertion failed: Unsupported Arch "
        "(cutlass_preprocessors.cpp:147)",
        source="Tlntin/Qwen-TensorRT-LLM#15, 2023-10-28", field=fields.ACCELERATOR,
    ),
    log_pattern(
        "ETR-DRAFTS-IN-STAGES", _CONFIG, r"Drafting is not supported for selected executor loop",
        "Drafts and pipeline parallelism do not go together.",
        "Use tensor parallelism instead, or serve without drafts.",
        text="NotImplementedError: Drafting is not supported for selected executor loop. Please "
        "disable disagg/pipeline parallelism/overlap scheduler.",
        source=f"{_T}#9009", field=SPECULATOR, fix=no_drafts,
    ),
    log_pattern(
        "ETR-PROMPT-TOO-LONG", _CONFIG,
        r"prompt length \((?P<prompt>[\d.]+)\)(?:,? (?:and )?query length \([\d.]+\))? should not "
        r"exceed max_num_tokens \((?P<most>\d+)\)",
        "A prompt of {prompt} tokens does not fit a step of {most}, and prompts are not cut.",
        "Turn chunked prefill on, or raise max_num_tokens.",
        text="ValueError: The sum of prompt length (9351.0), query length (0) should not exceed "
        "max_num_tokens (8192)",
        source=f"{_T}#9277", field=_TOKENS, fix=chunked_prefill,
    ),
    log_pattern(
        "ETR-PROMPT-BEYOND-LENGTH", _CONFIG,
        r"(?:sum of prompt length|`default_max_tokens` \([-\d]+\) must be greater than 0)"
        r"[^\n]*max_seq_len \((?P<most>\d+)\)",
        "A prompt and its answer do not fit a sequence of {most} tokens.",
        "Raise max_seq_len, or shorten the prompt or the answer.",
        text="ValueError: `default_max_tokens` (-152) must be greater than 0, `default_max_tokens` "
        "(-152) = max_seq_len (8192) - `splited_prompt_len` (8344)",
        source="TensorRT-LLM 1.3.0rc29, executor/base_worker.py", field=f"trt_llm.build.{LENGTH}",
    ),
)  # fmt: skip
