"""vLLM's complaints about checkpoints, precisions and GPUs."""

from controlplane.domain.failures import Blame, fields
from controlplane.domain.failures.pattern import log_pattern
from controlplane.domain.runtimes.engine_log import SPECULATOR, no_drafts

_V = "vllm-project/vllm"
_CONFIG, _CHECKPOINT, _MACHINE = Blame.CONFIGURATION, Blame.CHECKPOINT, Blame.MACHINE
_RANK = "trt_llm.build.lora_configuration.max_lora_rank"
_ADAPTERS = "trt_llm.build.lora_adapters"

_DRAFTS = r"\w*(?:E[Aa][Gg][Ll][Ee]|Medusa|Draft|MTP|Speculat|DSpark|DFlash)"
"""How the names of classes begin that draft for another."""

PATTERNS = (
    log_pattern(
        "EVL-DRAFT-ARCHITECTURE", _CONFIG,
        rf"Model architectures \['(?P<name>{_DRAFTS}\w*)'\][^\n]* are not supported",
        "This vLLM has no `{name}`, the class of the model that is to draft.",
        "Use a draft model of a class that it has, or serve without drafts.",
        text="ValueError: Model architectures ['EagleQwen2ForCausalLM'] are not supported for now.",
        source=f"{_V}#24967, 2025-09-16", field=SPECULATOR, fix=no_drafts,
    ),
    log_pattern(
        "EVL-ARCHITECTURE", _CHECKPOINT,
        rf"Model architectures \['(?!{_DRAFTS})(?P<name>[\w]+)'\][^\n]* are not supported",
        "This vLLM has no `{name}`.",
        "Use a newer vLLM or another checkpoint.",
        text="ValueError: Model architectures ['Qwen2ForCausalLM'] are not supported for now.",
        source=f"{_V}#3463", field=fields.REPO,
    ),
    log_pattern(
        "EVL-ARCHITECTURE-NOT-IMPORTED", _MACHINE,
        r"Model architectures \['(?P<name>[\w]+)'\] failed to be inspected",
        "This vLLM could not import its own `{name}`.",
        "The log names the import that failed above: mostly this vLLM and the transformers beside "
        "it do not fit. Install the transformers that this vLLM asks for.",
        text="Value error, Model architectures ['LlavaForConditionalGeneration'] failed to be "
        "inspected. Please check the logs for more details.",
        source="vLLM 0.25.1 beside transformers 5.17 on an H200, 2026-11-29",
    ),
    log_pattern(
        "EVL-BFLOAT16", _MACHINE,
        r"Bfloat16 is only supported on GPUs with compute capability of at least 8\.0\. Your "
        r"(?P<device>[^\n]+?) GPU has compute capability (?P<has>[\d.]+)",
        "The weights are bfloat16, and {device} has compute capability {has}.",
        "Use an Ampere GPU or newer.",
        text="ValueError: Bfloat16 is only supported on GPUs with compute capability of at least "
        "8.0. Your Tesla T4 GPU has compute capability 7.5.",
        source=f"{_V}#1157", field=fields.ACCELERATOR,
    ),
    log_pattern(
        "EVL-METHOD-ON-CARD", _CONFIG,
        r"quantization method (?P<method>\w+) is not supported for the current GPU\. Minimum "
        r"capability: (?P<needs>\d+)\. Current capability: (?P<has>\d+)",
        "`{method}` needs compute capability {needs} (times ten), and the GPU has {has}.",
        "Use a newer GPU, or `quantization_type: no_quant`.",
        text="ValueError: The quantization method fp8 is not supported for the current GPU. "
        "Minimum capability: 90. Current capability: 86.",
        source=f"{_V}#4327", field=fields.QUANTIZATION,
    ),
    log_pattern(
        "EVL-SCHEME-ON-CARD", _CONFIG,
        r"Quantization scheme is not supported for[^\n]*?Min capability: (?P<needs>\d+)",
        "The checkpoint's quantization needs compute capability {needs} (times ten).",
        "Use a newer GPU, or build from the original weights.",
        text="RuntimeError: ('Quantization scheme is not supported for ', 'the current GPU. Min "
        "capability: 80. ', 'Current capability: 75.')",
        source=f"{_V}#14040", field=fields.ACCELERATOR,
    ),
    log_pattern(
        "EVL-METHOD-DIFFERS", _CONFIG,
        r"Quantization method specified in the model config \((?P<stored>[\w-]+)\) does not match "
        r"the quantization method specified in the `quantization` argument \((?P<asked>[\w-]+)\)",
        "The checkpoint is quantized with `{stored}`, and `{asked}` was asked for.",
        "Set `quantization_type: no_quant`: a quantized checkpoint is served as it is.",
        text="ValueError: Quantization method specified in the model config (gptq) does not match "
        "the quantization method specified in the `quantization` argument (auto-round).",
        source="intel/auto-round#2242", field=fields.QUANTIZATION,
    ),
    log_pattern(
        "EVL-FP8-KERNEL", _MACHINE, r"type fp8e4nv not supported in this architecture",
        "This GPU has no FP8 arithmetic in E4M3.",
        "Use a GPU of compute capability 8.9 or newer (L4, L40S, H100).",
        text="ValueError: type fp8e4nv not supported in this architecture. The supported fp8 "
        "dtypes are ('fp8e4b15', 'fp8e5')",
        source="kvcache-ai/ktransformers#851", field=fields.ACCELERATOR,
    ),
    log_pattern(
        "EVL-FP8-ON-CARD", _CONFIG,
        r"FP8 quantized models is only supported on GPUs with compute capability >= "
        r"(?P<needs>[\d.]+)[^\n]*?actual = `(?P<has>[\d.]+)`",
        "The checkpoint's FP8 weights need compute capability {needs}, and the GPU has {has}.",
        "Use a newer GPU, or build from the original weights.",
        text="ValueError: FP8 quantized models is only supported on GPUs with compute capability "
        ">= 8.9 (e.g 4090/H100), actual = `8.0`",
        source="huggingface/huggingface-llama-recipes#21", field=fields.ACCELERATOR,
    ),
    log_pattern(
        "EVL-FP8-CACHE-ON-CARD", _CONFIG,
        r"FP8 KV cache is not supported by the Triton attention backend on (?P<device>[^\n(]+?) "
        r"\(compute capability (?P<has>[\d.]+)\)",
        "{device} has compute capability {has}, and an FP8 KV cache needs 8.9 without FlashInfer.",
        "Install FlashInfer beside vLLM, use `fp8`, which keeps 16 bits there, or a newer GPU.",
        text="ValueError: FP8 KV cache is not supported by the Triton attention backend on NVIDIA "
        "A100-SXM4-80GB (compute capability 8.0); native FP8 (fp8e4nv) requires SM89+.",
        source="vLLM 0.25.1, v1/attention/backends/triton_attn.py", field=fields.QUANTIZATION,
    ),
    log_pattern(
        "EVL-WEIGHTS-MISSING", _CHECKPOINT,
        r"Following weights were not initialized from checkpoint:\s*\{'(?P<name>[\w.]+)'",
        "The checkpoint lacks weights, `{name}` among them.",
        "Build again from a complete revision.",
        text="ValueError: Following weights were not initialized from checkpoint: "
        "{'model.layers.47.mlp.gate_up_proj.weight', 'model.layers.49.input_layernorm.weight'}",
        source=f"{_V}#12860", field=fields.REPO,
    ),
    log_pattern(
        "EVL-WEIGHTS-UNKNOWN", _CHECKPOINT,
        r"There is no module or parameter named '(?P<name>[\w.]+)' in (?P<model>\w+)",
        "The checkpoint has `{name}`, which `{model}` does not.",
        "The class in its config.json is not the one that its weights are of.",
        text="ValueError: There is no module or parameter named 'mm_whisper_embeddings' in "
        "LlamaForCausalLM",
        source=f"{_V}#21176", field=fields.REPO,
    ),
    log_pattern(
        "EVL-WEIGHT-NAME", _CHECKPOINT,
        r"KeyError: '(?P<name>(?:\w+\.)*(?:layers|blocks|h)\.\d+\.[\w.]+)'",
        "vLLM's model has no place for the checkpoint's `{name}`.",
        "A newer vLLM may; or the quantization left this layer in a form that it does not read.",
        text="KeyError: 'layers.0.mlp.down_proj.weight_scale'",
        source="vllm-project/llm-compressor#959", field=fields.REPO,
    ),
    log_pattern(
        "EVL-WEIGHT-SHAPE", _CHECKPOINT,
        r"Attempted to load weight \(torch\.Size\((?P<given>\[[^\]]*\])\)\) into parameter "
        r"\(torch\.Size\((?P<wanted>\[[^\]]*\])\)\)",
        "A weight has the shape {given}, and the model wants {wanted}.",
        "config.json and weights are of different revisions.",
        text="AssertionError: Attempted to load weight (torch.Size([128256, 4096])) into parameter "
        "(torch.Size([128258, 4096]))",
        source="vLLM 0.25.1, model_executor/model_loader/weight_utils.py", field=fields.REPO,
    ),
    log_pattern(
        "EVL-NO-WEIGHTS", _CHECKPOINT, r"Cannot find any model weights with `(?P<path>[^`\n]+)`",
        "`{path}` holds no weights.", "The artifact is incomplete: build again.",
        text="RuntimeError: Cannot find any model weights with `model`",
        source="vLLM 0.25.1, model_executor/model_loader/default_loader.py", field=fields.REPO,
    ),
    log_pattern(
        "EVL-LORA-RANK", _CONFIG,
        r"LoRA rank (?P<rank>\d+) is greater than max_lora_rank (?P<most>\d+)",
        "An adapter has rank {rank}, and the engine takes {most} at most.",
        "Set max_lora_rank to {rank} or more.",
        text="ValueError: LoRA rank 64 is greater than max_lora_rank 16.",
        source=f"{_V}#2847", field=_RANK,
    ),
    log_pattern(
        "EVL-LORA-RANK-VALUE", _CONFIG, r"max_lora_rank\s+Input should be (?P<values>[\d, or]*\d)",
        "vLLM takes {values} as max_lora_rank.", "Choose the next larger one.",
        text="pydantic_core._pydantic_core.ValidationError: 1 validation error for LoRAConfig\n"
        "max_lora_rank\n  Input should be 1, 8, 16, 32, 64, 128, 256, 320 or 512 "
        "[type=literal_error, input_value=48, input_type=int]",
        source="vllm-project/vllm-omni#1397", field=_RANK,
    ),
    log_pattern(
        "EVL-LORA-MODULE", _CHECKPOINT,
        r"expected target modules in \[?[^\n]*?but received \['?(?P<name>[\w.]+)",
        "An adapter changes `{name}`, which the engine adapts in no model of this class.",
        "Train the adapter on attention and MLP projections.",
        text="ValueError: While loading x, expected target modules in ['qkv_proj'] but received "
        "['model.embed_tokens']. Please verify that the loaded LoRA module is correct",
        source="vLLM 0.25.1, lora/lora_model.py", field=_ADAPTERS,
    ),
    log_pattern(
        "EVL-LORA-UNSUPPORTED", _CONFIG,
        r"(?P<name>\w+) does not support LoRA(?: yet|, but LoRA is)",
        "vLLM serves no adapters on `{name}`.", "Merge the adapter into the weights.",
        text="ValueError: GPTJForCausalLM does not support LoRA yet.",
        source="vLLM 0.25.1, v1/worker/lora_model_runner_mixin.py", field=_ADAPTERS,
    ),
    log_pattern(
        "EVL-KERNEL-IMAGE", _MACHINE,
        r"no kernel image is available for execution on the device|device kernel image is invalid",
        "This build of the engine has no kernels for the GPU.",
        "Install an engine that was built for the GPU's compute capability.",
        text="torch.AcceleratorError: CUDA error: no kernel image is available for execution on "
        "the device",
        source="CUDA runtime, cudaErrorNoKernelImageForDevice", field=fields.ACCELERATOR,
    ),
    log_pattern(
        "EVL-DRIVER", _MACHINE, r"NVIDIA driver on your system is too old|CUDA driver version is "
        r"insufficient for CUDA runtime version",
        "The NVIDIA driver is older than the CUDA that the engine was built with.",
        "Update the driver of this host, or install an engine for an older CUDA.",
        text="RuntimeError: The NVIDIA driver on your system is too old (found version 12020).",
        source="torch 2.11, torch/cuda/__init__.py",
    ),
    log_pattern(
        "EVL-NO-CARD", _MACHINE, r"Failed to infer device type|No CUDA GPUs are available",
        "The engine sees no GPU.",
        "Check `nvidia-smi` on the host, and that the process may open /dev/nvidia*.",
        text="RuntimeError: Failed to infer device type, please set the environment variable",
        source="vLLM 0.25.1, config/device.py", field=fields.ACCELERATOR,
    ),
)  # fmt: skip
