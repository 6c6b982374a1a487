"""vLLM's complaints about memory, limits and settings."""

from controlplane.domain.failures import Blame, fields
from controlplane.domain.failures.pattern import log_pattern
from controlplane.domain.failures.patterns import device_sharing
from controlplane.domain.runtimes.engine_log import (
    BATCH,
    KV_FRACTION,
    LENGTH,
    SPECULATOR,
    TENSOR_PARALLEL,
    TOKENS,
    half,
    less_kv_cache,
    no_drafts,
)

_V = "vllm-project/vllm"
_CONFIG, _MACHINE = Blame.CONFIGURATION, Blame.MACHINE
_LENGTH, _BATCH = f"trt_llm.build.{LENGTH}", f"trt_llm.build.{BATCH}"
_TOKENS = f"trt_llm.build.{TOKENS}"

PATTERNS = (
    log_pattern(
        "EVL-KV-CACHE-TOO-SMALL", _CONFIG,
        r"To serve at least one request with the models?'s max seq len \((?P<asked>\d+)\)"
        r"[^\n]*?\((?P<needed>[\d.]+ GiB) KV cache is needed"
        r"(?:[^\n]*?estimated maximum model length is (?P<fits>\d+))?",
        "One request of {asked} tokens needs {needed} of KV cache, more than the GPU has left.",
        "Lower max_seq_len, quantize to FP8 with an FP8 KV cache, or spread over more GPUs.",
        text="ValueError: To serve at least one request with the models's max seq len (131072), "
        "(4.54 GiB KV cache is needed, which is larger than the available KV cache memory (1.71 "
        "GiB). Based on the available memory, the estimated maximum model length is 49376.",
        source=f"{_V}#27508", field=_LENGTH, fix=half(LENGTH),
    ),
    log_pattern(
        "EVL-KV-CACHE-TOKENS", _CONFIG,
        r"max seq len \((?P<asked>\d+)\) is larger than the maximum number of tokens that can be "
        r"stored in KV cache \((?P<fits>\d+)\)",
        "max_seq_len is {asked}, and the KV cache holds {fits} tokens.",
        "Set max_seq_len to {fits} or less, or spread over more GPUs.",
        text="ValueError: The model's max seq len (4096) is larger than the maximum number of "
        "tokens that can be stored in KV cache (3664). Try increasing `gpu_memory_utilization`",
        source=f"{_V}#2418", field=_LENGTH, fix=half(LENGTH),
    ),
    log_pattern(
        "EVL-NO-KV-CACHE", _CONFIG, r"No available memory for the cache blocks",
        "Weights and activations take all of the memory, and nothing is left for the KV cache.",
        "Use more GPUs or a lower precision, or lower max_num_tokens.",
        text="ValueError: No available memory for the cache blocks. Try increasing "
        "`gpu_memory_utilization` when initializing the engine.",
        source=f"{_V}#2248", field=fields.ACCELERATOR, fix=half(TOKENS),
    ),
    log_pattern(
        "EVL-CARD-IN-USE", _MACHINE,
        r"[Ff]ree memory on device[^\n(]*\((?P<free>[\d.]+)/(?P<total>[\d.]+) GiB\) on startup is "
        r"less than desired GPU memory utilization \((?P<share>[\d.]+), (?P<wanted>[\d.]+) GiB\)",
        "{free} of the GPU's {total} GiB are free, and the engine is to take {wanted}: the driver "
        "or another process holds the rest.",
        "End the other process, which the node's page names, or let the engine take less.",
        text="ValueError: Free memory on device cuda:0 (19.77/22.05 GiB) on startup is less than "
        "desired GPU memory utilization (0.9, 19.84 GiB).",
        source="pytorch/pytorch#175666", field=KV_FRACTION, fix=less_kv_cache,
    ),
    log_pattern(
        "EVL-SAMPLER-OUT-OF-MEMORY", _CONFIG,
        r"out of memory occurred when warming up sampler with (?P<rows>\d+) dummy requests",
        "The GPU has no room to sample {rows} requests at once.",
        "Lower max_batch_size.",
        text="RuntimeError: CUDA out of memory occurred when warming up sampler with 256 dummy "
        "requests. Please try lowering `max_num_seqs` or `gpu_memory_utilization`",
        source=f"{_V}#17939", field=_BATCH, fix=half(BATCH),
    ),
    log_pattern(
        "EVL-CARD-SHARED", _MACHINE, rf"OutOfMemoryError: {device_sharing.TRIED}",
        "Others hold most of the GPU: the engine asked for {size} more and has {own} itself, and "
        "{free} of {capacity} are free.",
        "End what else uses the GPU; the node's page names it.",
        holds=device_sharing.is_held_by_others,
        text="torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.16 GiB. GPU 0 has a "
        "total capacity of 139.72 GiB of which 12.88 MiB is free. Process 71352 has 30.61 GiB "
        "memory in use. Including non-PyTorch memory, this process has 109.10 GiB memory in use. "
        "Of the allocated memory 107.63 GiB is allocated by PyTorch, and 39.37 MiB is reserved by "
        "PyTorch but unallocated. If reserved but unallocated memory is large try setting",
        source="torch 2.11.0, c10/cuda/CUDACachingAllocator.cpp",
    ),
    log_pattern(
        "EVL-OUT-OF-MEMORY", _CONFIG,
        r"OutOfMemoryError: CUDA out of memory\. Tried to allocate (?P<asked>[\d.]+ [MG]iB)",
        "The GPU ran out of memory while {asked} more were asked for.",
        "Lower max_num_tokens, or use more GPUs.",
        text="torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.74 GiB. GPU 1 has a "
        "total capacity of 23.57 GiB of which 605.88 MiB is free.",
        source=f"{_V}#15105", field=_TOKENS, fix=half(TOKENS),
        holds=device_sharing.is_not_known_to_be_shared,
    ),
    log_pattern(
        "EVL-LENGTH-BEYOND-MODEL", _CONFIG,
        r"User-specified max_model_len \((?P<asked>\d+)\) is greater than the derived max_model_len"
        r" \([^\n=]*=(?P<most>\d+)",
        "max_seq_len is {asked}, and the model was made for {most} tokens.",
        "Set max_seq_len to {most} or less.",
        text="ValueError: User-specified max_model_len (4096) is greater than the derived "
        "max_model_len (seq_length=2048 or model_max_length=None in model's config.json).",
        source="xorbitsai/inference#1715", field=_LENGTH, fix=half(LENGTH),
    ),
    log_pattern(
        "EVL-STEP-SHORTER-THAN-PROMPT", _CONFIG,
        r"max_num_batched_tokens \((?P<step>\d+)\) is smaller than max_model_len \((?P<length>\d+)",
        "A step of {step} tokens does not hold a prompt of {length}, and prompts are not cut.",
        "Turn chunked prefill on, or raise max_num_tokens to max_seq_len.",
        text="ValueError: max_num_batched_tokens (2560) is smaller than max_model_len (4096). This "
        "effectively limits the maximum sequence length to max_num_batched_tokens",
        source="vLLM 0.25.1, config/scheduler.py", field=_TOKENS,
    ),
    log_pattern(
        "EVL-STEP-SHORTER-THAN-BATCH", _CONFIG,
        r"max_num_batched_tokens \((?P<step>\d+)\) must be greater than or equal to max_num_seqs "
        r"\((?P<rows>\d+)",
        "A step of {step} tokens does not hold one token of each of {rows} requests.",
        "Lower max_batch_size, or raise max_num_tokens.",
        text="ValueError: max_num_batched_tokens (128) must be greater than or equal to "
        "max_num_seqs (256).",
        source="vLLM 0.25.1, config/scheduler.py", field=_TOKENS, fix=half(BATCH),
    ),
    log_pattern(
        "EVL-HEADS", _CONFIG,
        r"Total number of attention heads \((?P<heads>\d+)\) must be divisible by tensor parallel "
        r"size \((?P<size>\d+)\)",
        "{heads} attention heads do not divide by {size} GPUs.",
        "Choose a tensor parallel size that divides the heads, or pipeline parallelism.",
        text="ValueError: Total number of attention heads (40) must be divisible by tensor "
        "parallel size (3).",
        source=f"{_V}#596", field=TENSOR_PARALLEL,
    ),
    log_pattern(
        "EVL-CARDS-MISSING", _MACHINE,
        r"World size \((?P<asked>\d+)\) is larger than the number of available GPUs "
        r"\((?P<have>\d+)\)",
        "The config asks for {asked} GPUs, and the engine sees {have}.",
        "Ask for as many GPUs in resources.accelerator, and let nobody hide them.",
        text="ValueError: World size (4) is larger than the number of available GPUs (2) in this "
        "node.",
        source="vLLM 0.25.1, config/parallel.py", field=fields.ACCELERATOR,
    ),
    log_pattern(
        "EVL-DRAFTS-IN-STAGES", _CONFIG,
        r"Pipeline parallelism is not supported for this model|"
        r"[Ss]peculative decoding[^\n]*pipeline parallel",
        "This vLLM cannot divide the model, or the one that drafts for it, into pipeline stages.",
        "Use tensor parallelism instead; or, with drafts, serve without them.",
        text="NotImplementedError: Pipeline parallelism is not supported for this model. Supported "
        "models implement the `SupportsPP` interface.",
        source=f"{_V}#52069", field="trt_llm.build.pipeline_parallel_count", fix=no_drafts,
    ),
    log_pattern(
        "EVL-NGRAM-SIZES", _CONFIG, r"prompt_lookup_min=(?P<least>\d+)[^\n]*prompt_lookup_max",
        "The shortest n-gram to match is longer than the longest.",
        "Raise lookahead_ngram_size, or serve without drafts.",
        text="ValueError: prompt_lookup_min=8 must be <= prompt_lookup_max=2",
        source="vLLM 0.25.1, config/speculative.py", field=SPECULATOR, fix=no_drafts,
    ),
    log_pattern(
        "EVL-NCCL", _MACHINE, r"NCCL error|ncclUnhandledCudaError|ncclSystemError",
        "The GPUs could not be brought to talk to each other.",
        "Give the engine more shared memory (`ipc: host`), and check `nvidia-smi topo -m`.",
        text="RuntimeError: NCCL error: unhandled system error (run with NCCL_DEBUG=INFO for "
        "details)",
        source="vLLM 0.25.1, distributed/device_communicators/pynccl.py",
    ),
    log_pattern(
        "EVL-UNKNOWN-PARSER", _CONFIG,
        r"(?:invalid (?:tool call|reasoning) parser: |Reasoning parser ')(?P<name>[\w.-]+)",
        "This vLLM has no parser `{name}`.",
        "Name one of those that the line lists, in `enginehouse.vllm_args` (v2: patch_kwargs).",
        text="KeyError: 'invalid tool call parser: qwen3 (chose from { hermes,llama3_json })'",
        source="vLLM 0.25.1, entrypoints/openai/api_server.py",
        field="enginehouse.vllm_args",
    ),
    log_pattern(
        "EVL-UNKNOWN-FLAG", Blame.OURS, r"error: unrecognized arguments: (?P<flags>[^\n]+)",
        "This vLLM does not know `{flags}`.",
        "Its version differs from the one that the command was written for.",
        text="vllm: error: unrecognized arguments: --kv-offloading-size 8",
        source="vLLM 0.25.1, utils/argparse_utils.py",
    ),
)  # fmt: skip

ECHOES = (
    log_pattern(
        "EVL-ENGINE-ENDED", Blame.OURS,
        r"Engine core initialization failed|EngineDeadError|WorkerProc initialization failed",
        "vLLM's engine process ended, and what it printed before is no failure that is known here.",
        "Read the lines above it in the deployment's log.",
        text="RuntimeError: Engine core initialization failed. See root cause above. Failed core "
        "proc(s): {}",
        source=f"{_V}#17939",
    ),
)  # fmt: skip
