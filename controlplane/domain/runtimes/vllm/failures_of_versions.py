"""vLLM's complaints about the libraries beside it, and about what a GPU's kernels hold."""

from controlplane.domain.failures import Blame, fields
from controlplane.domain.failures.pattern import log_pattern
from controlplane.domain.runtimes.engine_log import SPECULATOR, no_drafts

_V = "vllm-project/vllm"
_CONFIG, _CHECKPOINT, _MACHINE = Blame.CONFIGURATION, Blame.CHECKPOINT, Blame.MACHINE

PATTERNS = (
    log_pattern(
        "EVL-TRANSFORMERS-NEWER", _MACHINE, r"has no attribute '?all_special_tokens_extended",
        "The transformers beside this vLLM is of version 5, and this vLLM wants version 4.",
        "Install a newer vLLM, or `transformers<5` beside this one.",
        text="AttributeError: Qwen2Tokenizer has no attribute all_special_tokens_extended. Did you "
        "mean: 'num_special_tokens_to_add'?",
        source="QwenLM/Qwen3-VL#2058, 2026-03-09",
    ),
    log_pattern(
        "EVL-CONFIG-FIELD", _CHECKPOINT,
        r"AttributeError: '(?P<config>\w+Config)' object has no attribute '(?P<name>\w+)'",
        "vLLM asks config.json for `{name}`, which the class `{config}` of the transformers beside "
        "it does not have.",
        "Install the transformers that this vLLM asks for; a checkpoint may be newer than both.",
        text="AttributeError: 'Qwen2MoeConfig' object has no attribute 'mlp_only_layers'",
        source="QwenLM/Qwen3#724, 2024-07-01", field=fields.REPO,
    ),
    log_pattern(
        "EVL-TOKENIZER-CLASS", _CHECKPOINT,
        r"Tokenizer class (?P<name>\w+) does not exist or is not currently imported",
        "tokenizer_config.json names `{name}`, which the transformers beside this vLLM does not "
        "have.",
        "Install a newer one, or name the class there that the model's makers do "
        "(`PreTrainedTokenizerFast` reads any tokenizer.json).",
        text="ValueError: Tokenizer class TokenizersBackend does not exist or is not currently "
        "imported.",
        source="agentscope-ai/QwenPaw#3084, 2026-04-08", field=fields.REPO,
    ),
    log_pattern(
        "EVL-PROCESSOR-FILE", _CHECKPOINT,
        r"does not appear to have a file named (?P<name>(?:pre|video_pre)?processor_config\.json)",
        "A model for images or sound needs `{name}`, and the checkpoint has none.",
        "Copy it from the repository that the checkpoint was made from.",
        text="OSError: /srv/gemma-3-27b-it-FP8 does not appear to have a file named "
        "preprocessor_config.json.",
        source="vllm-project/llm-compressor#1305, 2025-04-01", field=fields.REPO,
    ),
    log_pattern(
        "EVL-NO-CLASS-NAMED", _CHECKPOINT, r"No model architectures are specified",
        "config.json names no `architectures`, so vLLM cannot tell which class to load.",
        "Add the class's name, as the model's makers have it.",
        text="Value error, No model architectures are specified [type=value_error]",
        source="vllm-project/vllm-omni#2170, 2026-03-25", field=fields.REPO,
    ),
    log_pattern(
        "EVL-EMPTY-JSON", _CHECKPOINT, r"Expecting value: line 1 column 1 \(char 0\)",
        "A JSON file of the checkpoint is empty or something else: mostly a pointer of Git LFS.",
        "Download the repository with its large files and upload it again.",
        text="Value error, Expecting value: line 1 column 1 (char 0) [type=value_error]",
        source=f"{_V}#26161, 2025-10-03", field=fields.REPO,
    ),
    log_pattern(
        "EVL-BLOCK-FP8-ON-CARD", _MACHINE,
        r"block scaled fp8 gemm is not implemented for (?P<family>\w+)",
        "This vLLM has no kernel for FP8 in blocks on {family}.",
        "Install a newer vLLM, or use a checkpoint with one scale for a tensor.",
        text="RuntimeError: Currently, block scaled fp8 gemm is not implemented for Blackwell",
        source=f"{_V}#16515", field=fields.ACCELERATOR,
    ),
    log_pattern(
        "EVL-FLASH-ATTENTION", _MACHINE, r"FlashAttention only supports? Ampere GPUs or newer",
        "FlashAttention needs an Ampere GPU or a newer one.",
        "Leave `attn_backend` unset, or use a newer GPU.",
        text="RuntimeError: FlashAttention only supports Ampere GPUs or newer.",
        source=f"{_V}#8189, 2025-01-11", field=fields.ACCELERATOR,
    ),
    log_pattern(
        "EVL-KERNEL-MEMORY", _MACHINE,
        r"out of resource: shared memory, Required: (?P<wants>\d+), Hardware limit: (?P<has>\d+)",
        "A Triton kernel wants {wants} bytes of shared memory in the GPU's core, which has {has}.",
        "Use a newer vLLM or a data-centre GPU: the kernel was tuned for those.",
        text="triton.runtime.errors.OutOfResources: out of resource: shared memory, Required: "
        "81920, Hardware limit: 65536. Reducing block sizes or `num_stages` may help.",
        source=f"{_V}#36802, 2026-03-11", field=fields.ACCELERATOR,
    ),
    log_pattern(
        "EVL-MEMORY-FREED", _MACHINE,
        r"Error in memory profiling\. Initial free memory (?P<before>[\d.]+)(?: GiB)?, current "
        r"free memory (?P<after>[\d.]+)",
        "Another process gave memory of the GPU back while vLLM measured it ({before}, then "
        "{after}), and vLLM ends then.",
        "Start again once the other one has ended, or give this replica a GPU of its own.",
        text="AssertionError: Error in memory profiling. Initial free memory 82.94 GiB, current "
        "free memory 90.17 GiB.",
        source=f"{_V}#56830, 2026-09-14", field=fields.ACCELERATOR,
    ),
    log_pattern(
        "EVL-DRAFT-MODEL", _CONFIG,
        r"(?:Speculative decoding with draft model|Draft model speculative decoding) is not "
        r"supported yet|Model Runner V2 does not yet support: [^\n\[]*(?:specul|draft)",
        "This version of vLLM does not draft in this way.",
        "Use n-grams or EAGLE, or serve without drafts, which answers the same.",
        text="NotImplementedError: Speculative decoding with draft model is not supported yet. "
        "Please consider using other speculative decoding methods such as ngram, medusa, eagle, "
        "or mtp.",
        source=f"{_V}#31883, 2026-01-07", field=SPECULATOR, fix=no_drafts,
    ),
    log_pattern(
        "EVL-NUMBA-MISSING", _MACHINE,
        r"Cannot import module 'workers\.lookahead[^\n]*No module named '(?P<name>numba|llvmlite)'",
        "The Python of this vLLM has no {name}, which compiles our drafter.",
        "Install the numba that this vLLM asks for beside it, or serve without drafts.",
        text="ImportError: Cannot import module 'workers.lookahead.vllm_proposer' for custom "
        "proposer 'workers.lookahead.vllm_proposer.LookaheadProposer': No module named 'numba'",
        source="vLLM 0.25.1, v1/spec_decode/custom_class_proposer.py", field=SPECULATOR,
        fix=no_drafts,
    ),
    log_pattern(
        "EVL-DRAFTER-MISSING", _MACHINE,
        r"Cannot import module 'workers\.lookahead[^\n]*custom proposer '[^']*': "
        r"(?!No module named '(?:numba|llvmlite))(?P<why>[^\n]+)",
        "vLLM's Python does not find our drafter: {why}.",
        "Let whoever starts engines here write below ENGINE_CACHE_DIR, where it puts the drafter.",
        text="ImportError: Cannot import module 'workers.lookahead.vllm_proposer' for custom "
        "proposer 'workers.lookahead.vllm_proposer.LookaheadProposer': No module named 'workers'",
        source="vLLM 0.25.1, v1/spec_decode/custom_class_proposer.py", field=SPECULATOR,
        fix=no_drafts,
    ),
    log_pattern(
        "EVL-CUDA-UNKNOWN", _MACHINE,
        r"CUDA unknown error|Unexpected error from cudaGetDeviceCount",
        "CUDA could not be started on this host.",
        "Look whether `nvidia-smi` answers there; reload nvidia_uvm, and compare the driver with "
        "the CUDA that this vLLM was built for.",
        text="RuntimeError: Unexpected error from cudaGetDeviceCount(). Did you run some cuda "
        "functions before calling NumCudaDevices() that might have already set an error? Error "
        "803: system has unsupported display driver / cuda driver combination",
        source=f"{_V}#15335",
    ),
)  # fmt: skip
