"""TensorRT-LLM's complaints about checkpoints, precisions and GPUs."""

from controlplane.domain.failures import Blame, fields
from controlplane.domain.failures.pattern import log_pattern
from controlplane.domain.runtimes.engine_log import (
    LENGTH,
    TENSOR_PARALLEL,
    no_drafts,
)

_T = "NVIDIA/TensorRT-LLM"
_CONFIG, _CHECKPOINT, _MACHINE = Blame.CONFIGURATION, Blame.CHECKPOINT, Blame.MACHINE

PATTERNS = (
    log_pattern(
        "ETR-ARCHITECTURE", _CHECKPOINT,
        r"(?:Unknown architecture for AutoModelForCausalLM: |Unsupported model architecture: |"
        r"The given huggingface model architecture )(?P<name>\w+)",
        "This TensorRT-LLM has no `{name}`.",
        "Use a version that has it, or serve with vLLM: `enginehouse.runtime: vllm`.",
        text="ValueError: Unknown architecture for AutoModelForCausalLM: WhisperForConditional",
        source=f"{_T}#7706", field=fields.REPO,
    ),
    log_pattern(
        "ETR-WEIGHTS", _CHECKPOINT,
        r"Error executing load_single_module with args \('(?P<name>[\w.]+)'"
        r"(?![^\n]*out of memory)",
        "The weights of `{name}` are not there, or not of the shape that config.json gives.",
        "Use a revision in which config.json and weights belong together.",
        text="[TRT-LLM] [E] Error executing load_single_module with args "
        "('model.layers.1.mlp.gate_up_proj', Linear()): 'weight'",
        source="TensorRT-LLM 1.2, _torch/models/modeling_utils.py", field=fields.REPO,
    ),
    log_pattern(
        "ETR-NO-CONFIG", _CHECKPOINT, r"Failed to infer model format because no config\.json",
        "The artifact has no config.json.", "Build again.",
        text="ValueError: Failed to infer model format because no config.json exists in model",
        source="TensorRT-LLM 1.2, llmapi/llm_args.py", field=fields.REPO,
    ),
    log_pattern(
        "ETR-BFLOAT16", _MACHINE, r"Pre SM 80 GPUs do not support bfloat16",
        "This GPU cannot compute in bfloat16.", "Use an Ampere GPU or newer.",
        text="RuntimeError: Pre SM 80 GPUs do not support bfloat16",
        source="TensorRT-LLM 1.2, llmapi/llm_args.py", field=fields.ACCELERATOR,
    ),
    log_pattern(
        "ETR-LATENT-KERNEL", _CONFIG, r"Deepseek should be supported by fmha",
        "The model's latent attention has no kernel on this GPU.",
        "Use a GPU that TensorRT-LLM's page of supported models names for it, or serve with vLLM.",
        text="RuntimeError: [TensorRT-LLM][ERROR] Assertion failed: Deepseek should be supported "
        "by fmha in context part.",
        source=f"{_T}#18039, 2026-08-20", field=fields.ACCELERATOR,
    ),
    log_pattern(
        "ETR-VISION-HEADS", _CONFIG, r"Unexpected qkv shape",
        "This TensorRT-LLM divides the heads of the vision part over ranks, and does it wrongly.",
        "Use one GPU for each replica, a newer version, or serve with vLLM.",
        text="AssertionError: Unexpected qkv shape (1152, 1152) (expected first dim = 8*72)",
        source=f"{_T}#15613, 2026-06-25", field=TENSOR_PARALLEL,
    ),
    log_pattern(
        "ETR-ONE-SEQUENCE", _CONFIG,
        r"maxTokensInPagedKvCache \((?P<tokens>\d+)\) must be large enough",
        "The KV cache holds {tokens} tokens, and one sequence may be longer.",
        "Lower max_seq_len, or give the KV cache more of the GPU.",
        text="maxTokensInPagedKvCache (29184) must be large enough to process at least 1 sequence "
        "to completion",
        source="triton-inference-server/tensorrtllm_backend#366, 2024-03-06",
        field=f"trt_llm.build.{LENGTH}",
    ),
    log_pattern(
        "ETR-HEADS", _CONFIG, r"num_attention_heads must be divisible by tp_size",
        "The attention heads do not divide by the GPUs.",
        "Choose a tensor parallel size that divides them.",
        text="AssertionError: num_attention_heads must be divisible by tp_size",
        source="TensorRT-LLM 1.2, mapping.py", field=TENSOR_PARALLEL,
    ),
    log_pattern(
        "ETR-KV-ALGORITHMS", _CHECKPOINT, r"The kvcache config in 'quant_cfg\.json'",
        "Two files of the checkpoint name different types of KV cache.",
        "Remove quant_cfg.json, or export the checkpoint again.",
        text="RuntimeError: The kvcache config in 'quant_cfg.json', FP8, is different from "
        "'hf_quant_config.json', None!",
        source="TensorRT-LLM 1.2, _torch/model_config.py", field=fields.REPO,
    ),
    log_pattern(
        "ETR-QUANT-ALGORITHM", _CHECKPOINT, r"'(?P<name>\w+)' is not a valid QuantAlgo",
        "hf_quant_config.json names `{name}`, which this TensorRT-LLM does not know.",
        "Build again with another `quantization_type`, or use a newer version.",
        text="ValueError: 'W4A16_NVFP5' is not a valid QuantAlgo",
        source="TensorRT-LLM 1.2, quantization/mode.py", field=fields.QUANTIZATION,
    ),
    log_pattern(
        "ETR-GUIDED-DRAFTS", _CONFIG,
        r"(?:Guided decoding is not supported|Failed to set guided decoder) for speculative "
        r"decoding mode: (?P<mode>\w+)",
        "Structured output does not go together with `{mode}`.",
        "Draft with NGram, Eagle3 or MTP, or serve without drafts.",
        text="ValueError: Guided decoding is not supported for speculative decoding mode: MEDUSA",
        source="TensorRT-LLM 1.2, _torch/pyexecutor/py_executor_creator.py",
        field="trt_llm.runtime.patch_kwargs.speculative_config", fix=no_drafts,
    ),
    log_pattern(
        "ETR-GUIDED-BACKEND", _CONFIG, r"GuidedDecodingParams, but GuidedDecoder is not setup",
        "A request asked for structured output, and the engine has no backend for it.",
        "Leave `guided_decoding_backend` to the driver, which sets xgrammar.",
        text="Request is specified with GuidedDecodingParams, but GuidedDecoder is not setup",
        source="NVIDIA/TensorRT#4855",
        field="trt_llm.runtime.patch_kwargs.guided_decoding_backend",
    ),
    log_pattern(
        "ETR-KERNEL-IMAGE", _MACHINE, r"no kernel image is available for execution on the device",
        "This build of the engine has no kernels for the GPU.",
        "Use an image that was built for the GPU's compute capability.",
        text="torch.AcceleratorError: CUDA error: no kernel image is available for execution on "
        "the device",
        source="CUDA runtime, cudaErrorNoKernelImageForDevice", field=fields.ACCELERATOR,
    ),
    log_pattern(
        "ETR-DRIVER", _MACHINE, r"NVIDIA driver on your system is too old|CUDA driver version is "
        r"insufficient for CUDA runtime version",
        "The NVIDIA driver is older than the CUDA that the engine was built with.",
        "Update the driver of this host, or use an older image.",
        text="RuntimeError: The NVIDIA driver on your system is too old (found version 12020).",
        source="torch 2.9, torch/cuda/__init__.py",
    ),
)  # fmt: skip

ECHOES = (
    log_pattern(
        "ETR-CRASHED", Blame.OURS, r"CppExecutorError|Assertion failed: (?P<what>[^\n(]+)",
        "TensorRT-LLM's executor ended while it served.",
        "Nothing to change: another replica takes its place. Report it with the log.",
        text="terminate called after throwing an instance of 'tensorrt_llm::common::TllmException' "
        "what():  [TensorRT-LLM][ERROR] Assertion failed: Failed: MPI error",
        source=f"{_T}#1826",
    ),
)  # fmt: skip
