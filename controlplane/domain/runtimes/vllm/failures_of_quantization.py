"""vLLM's complaints about quantized weights, and about kernels that a GPU has not."""

from controlplane.domain.failures import Blame, fields
from controlplane.domain.failures.pattern import log_pattern
from controlplane.domain.runtimes.engine_log import TENSOR_PARALLEL

_V = "vllm-project/vllm"
_CONFIG, _CHECKPOINT, _MACHINE = Blame.CONFIGURATION, Blame.CHECKPOINT, Blame.MACHINE
_EXPERTS = "trt_llm.build.moe_expert_parallel_option"
_ARGUMENTS = "enginehouse.vllm_args"

PATTERNS = (
    log_pattern(
        "EVL-METHOD-UNKNOWN", _CHECKPOINT,
        r"Unknown quantization method: [\w.-]*\. Must be one of",
        "This vLLM does not read the quantization that the checkpoint names, or it names none.",
        "Its config.json must name `quant_method`; a ModelOpt export also has "
        "hf_quant_config.json.",
        text="Value error, Unknown quantization method: . Must be one of ['aqlm', 'awq', 'fp8', "
        "'modelopt']",
        source="NVIDIA/Model-Optimizer#261, 2025-08-19", field=fields.REPO,
    ),
    log_pattern(
        "EVL-METHOD-CONFIG", _CHECKPOINT, r"Cannot find the config file for (?P<name>[\w-]+)",
        "The engine was told that the weights are quantized with `{name}`, and the checkpoint says "
        "nothing of it.",
        "Set `quantization_type: no_quant`, or use a checkpoint that is quantized so.",
        text="ValueError: Cannot find the config file for awq",
        source="vLLM, model_executor/model_loader/weight_utils.py", field=fields.QUANTIZATION,
    ),
    log_pattern(
        "EVL-METHOD-DTYPE", _CONFIG,
        r"torch\.(?P<dtype>\w+) is not supported for quantization method (?P<name>[\w-]+)\. "
        r"Supported dtypes: \[(?P<takes>[^\]\n]*)\]",
        "Weights quantized with `{name}` compute in {takes} here, and the model asks for {dtype}.",
        "Set `dtype` in `enginehouse.vllm_args` to one of them, or use an FP8 checkpoint.",
        text="ValueError: torch.bfloat16 is not supported for quantization method awq. Supported "
        "dtypes: [torch.float16]",
        source=f"{_V}#1941, 2023-12-06", field=_ARGUMENTS,
    ),
    log_pattern(
        "EVL-NO-FLOAT16", _CONFIG,
        r"model type '(?P<name>[\w.-]+)' does not support float16",
        "`{name}` answers nonsense in float16, so vLLM refuses it.",
        "Use an Ampere GPU or newer, which computes in bfloat16, and remove `dtype`.",
        text="Value error, The model type 'gemma3' does not support float16. Reason: Numerical "
        "instability. Please use bfloat16 or float32 instead.",
        source="intel/llm-scaler#270, 2026-02-01", field=fields.ACCELERATOR,
    ),
    log_pattern(
        "EVL-BITSANDBYTES-CLASS", _CHECKPOINT,
        r"(?<!MoE )Model \w+ does not support BitsAndBytes quantization yet"
        r"|multiple indices is not supported for BNB",
        "This vLLM does not place weights of bitsandbytes in the model's class.",
        "Serve the original weights or an FP8 or INT4 checkpoint, or use another vLLM.",
        text="NotImplementedError: Shard id with multiple indices is not supported for BNB "
        "quantization yet.",
        source=f"{_V}#35838, 2026-03-03", field=fields.REPO,
    ),
    log_pattern(
        "EVL-EXPERT-KERNEL", _CONFIG,
        r"size_k must (?:be )?divisible by BLOCK_SIZE_K",
        "An expert's share of quantized weights is narrower than the kernel's block.",
        "Lower tensor_parallel_count, or keep experts whole (expert parallelism).",
        text="RuntimeError: size_k must divisible by BLOCK_SIZE_K",
        source=f"{_V}#17604, 2025-06-26", field=TENSOR_PARALLEL,
    ),
    log_pattern(
        "EVL-EXPERT-SCHEME", _CHECKPOINT, r"Unsupported FusedMoe scheme",
        "The experts are quantized in a scheme that this vLLM has no kernel for.",
        "Serve weights whose experts are in FP8, NVFP4 or INT4 alone, or use a newer vLLM.",
        text="RuntimeError: Unsupported FusedMoe scheme: num_bits=4 type='int' symmetric=True "
        "group_size=128 strategy='group'",
        source=f"{_V}#25241, 2025-09-25", field=fields.REPO,
    ),
    log_pattern(
        "EVL-EXPERT-BITSANDBYTES", _CHECKPOINT,
        r"MoE Model (?P<name>\w+) does not support BitsAndBytes",
        "vLLM reads no bitsandbytes weights of `{name}`, which has experts.",
        "Serve the model's own weights, or ones in FP8, AWQ or GPTQ.",
        text="AttributeError: MoE Model GptOssForCausalLM does not support BitsAndBytes "
        "quantization yet.",
        source=f"{_V}#25653, 2025-09-25", field=fields.REPO,
    ),
    log_pattern(
        "EVL-SPARSE-ATTENTION", _CONFIG,
        r"No valid attention backend found for \w+.*use_sparse=True",
        "The model picks the tokens that it attends to, and this vLLM has no kernel for that on "
        "the GPU.",
        "Use a GPU of compute capability 9, 10 or 12 (H100, B200, RTX PRO 6000).",
        text="ValueError: No valid attention backend found for cuda with "
        "AttentionSelectorConfig(head_size=576, use_mla=True, use_sparse=True)",
        source=f"{_V}#40851, 2026-04-29", field=fields.ACCELERATOR,
    ),
    log_pattern(
        "EVL-EXPERT-LAYOUT", _CONFIG, r"K must be divisible by blockK",
        "An expert's share is narrower than FlashInfer's kernel takes.",
        "Lower tensor_parallel_count, or keep experts whole (expert parallelism).",
        text="RuntimeError: K must be divisible by blockK",
        source=f"{_V}#41360", field=TENSOR_PARALLEL,
    ),
    log_pattern(
        "EVL-MARLIN-TILE", _CONFIG,
        r"size_n = (?P<size>\d+) is not divisible by tile_n_size = (?P<unit>\d+)",
        "A weight with {size} outputs does not divide into the {unit} that vLLM's kernel for GPUs "
        "without FP8 (Marlin) takes at a time.",
        "Use a GPU of compute capability 8.9 or newer, or the unquantized checkpoint.",
        text="RuntimeError: size_n = 6448 is not divisible by tile_n_size = 64",
        source="rh-aiservices-bu/rhoai-maas-guide#53, 2026-07-28", field=fields.ACCELERATOR,
    ),
    log_pattern(
        "EVL-NO-INT4-KERNEL", _CONFIG,
        r"Failed to find a kernel that can implement the (?P<kind>\w+) linear layer",
        "No kernel of this vLLM does the checkpoint's quantization in these sizes on this GPU.",
        "Lower tensor_parallel_count, or use a checkpoint quantized to FP8.",
        text="ValueError: Failed to find a kernel that can implement the WNA16 linear layer. "
        "Reasons: MarlinLinearKernel cannot implement due to: Weight input_size_per_partition",
        source="vLLM, model_executor/kernels/linear", field=TENSOR_PARALLEL,
    ),
    log_pattern(
        "EVL-SCHEME-UNKNOWN", _CHECKPOINT, r"No compressed-tensors compatible scheme was found",
        "The checkpoint's compressed-tensors scheme is one that this vLLM has no kernel for.",
        "Use a copy in FP8, NVFP4 or INT4 with groups of 128, or the unquantized checkpoint.",
        text="NotImplementedError: No compressed-tensors compatible scheme was found.",
        source="vllm-project/llm-compressor#1355, 2025-04-23", field=fields.REPO,
    ),
    log_pattern(
        "EVL-CUTLASS", _MACHINE,
        r"no cutlass_scaled_mm kernel for CUDA device capability: (?P<has>\d+)|"
        r"No compiled cutlass_scaled_mm for (?:a compute capability less than )?CUDA device "
        r"capability: (?P<less>\d+)",
        "This vLLM was built without quantized kernels for the GPU's compute capability.",
        "Use vLLM's own image or wheel for this GPU, or the unquantized checkpoint.",
        text="NotImplementedError: No compiled get_cutlass_moe_mm_data: no cutlass_scaled_mm "
        "kernel for CUDA device capability: 120. Required capability: 90 or 100",
        source=f"{_V}#24921, 2025-09-15", field=fields.ACCELERATOR,
    ),
    log_pattern(
        "EVL-FP4-EXPERTS", _MACHINE,
        r"NvFp4 MoE backend '(?P<name>\w+)' does not support|"
        r"No NvFp4 MoE backend supports the deployment configuration|"
        r"mm_fp4 does not support backend '(?P<kernel>[\w-]+)' with capability",
        "No FP4 kernel of this vLLM does these experts on the GPU.",
        "Use a newer vLLM, a data-centre Blackwell GPU, or the FP8 checkpoint.",
        text="ValueError: NvFp4 MoE backend 'FLASHINFER_CUTLASS' does not support the deployment "
        "configuration since kernel does not support current device.",
        source=f"{_V}#33416, 2026-01-30", field=fields.ACCELERATOR,
    ),
    log_pattern(
        "EVL-BITSANDBYTES-RANKS", _CONFIG,
        r"Prequant BitsAndBytes models with (?:TP|tensor parallelism) is not supported|"
        r"BitAndBytes quantization with TP or PP is not supported",
        "A bitsandbytes checkpoint cannot be divided by tensor parallelism.",
        "Use pipeline stages, one GPU, or a checkpoint quantized to FP8.",
        text="ValueError: Prequant BitsAndBytes models with tensor parallelism is not supported. "
        "Please try with pipeline parallelism.",
        source=f"{_V}#13122, 2025-03-04", field=TENSOR_PARALLEL,
    ),
    log_pattern(
        "EVL-BITSANDBYTES-EXPERTS", _CHECKPOINT,
        r"Prequant BitsAndBytes (?:8bit )?models with (?:FusedMoE|RoutedExperts)",
        "This vLLM does not load experts that bitsandbytes quantized.",
        "Use a checkpoint quantized to FP8 or INT4.",
        text="ValueError: Prequant BitsAndBytes 8bit models with FusedMoE is not supported yet.",
        source="vLLM, model_executor/model_loader/bitsandbytes_loader.py", field=fields.REPO,
    ),
    log_pattern(
        "EVL-BITSANDBYTES-PACKAGE", _MACHINE,
        r"Please install bitsandbytes(?P<version>[>=.\d]*)",
        "The checkpoint is quantized with bitsandbytes, which is not installed beside vLLM.",
        "Install `bitsandbytes{version}` there, or use a checkpoint quantized to FP8.",
        text="ImportError: Please install bitsandbytes>=0.46.1 via `pip install "
        "bitsandbytes>=0.46.1` to use bitsandbytes quantizer.",
        source="vLLM, model_executor/model_loader/bitsandbytes_loader.py", field=fields.REPO,
    ),
    log_pattern(
        "EVL-CACHE-E5M2", _CONFIG, r"fp8_e5m2 kv-cache is not supported with fp8 checkpoints",
        "An FP8 checkpoint keeps its KV cache in E4M3, and E5M2 was asked for.",
        "Set `kv_cache_config.dtype` to `fp8` or leave it out.",
        text="ValueError: fp8_e5m2 kv-cache is not supported with fp8 checkpoints.",
        source=f"{_V}#8409, 2024-09-12", field="trt_llm.runtime.patch_kwargs",
    ),
    log_pattern(
        "EVL-GGUF-ARCHITECTURE", _CHECKPOINT,
        r"GGUF model with architecture (?P<name>[\w.-]+) is not supported|"
        r"Architecture (?P<older>[\w.-]+) not supported|Unknown gguf model_type: (?P<type>[\w.-]+)",
        "GGUF files of `{name}{older}{type}` are not read.",
        "Name the repository that they were made from.",
        text="ValueError: GGUF model with architecture olmo2 is not supported yet.",
        source=f"{_V}#30691, 2025-12-15", field=fields.REPO,
    ),
    log_pattern(
        "EVL-GGUF-RANKS", _CONFIG, r"GGUF quantization hasn't supported tensor parallelism",
        "This vLLM does not divide GGUF weights over GPUs.",
        "Name the repository that the file was made from.",
        text="ValueError: GGUF quantization hasn't supported tensor parallelism yet.",
        source=f"{_V}#7662, 2024-08-19", field=TENSOR_PARALLEL,
    ),
    log_pattern(
        "EVL-EXPERTS-MARLIN", _CONFIG,
        r"Expert (?:fused )?[Pp]arallelism is not supported for (?P<name>[^\n.]+)",
        "Experts quantized to INT4 cannot be kept whole on a rank by this vLLM ({name}).",
        "Set moe_expert_parallel_option to -1, or use an FP8 checkpoint.",
        text="NotImplementedError: Expert fused Parallelism is not supported for Marlin MoE method",
        source=f"{_V}#15760, 2025-03-30", field=_EXPERTS,
    ),
    log_pattern(
        "EVL-EXPERT-RANKS", _CONFIG,
        r"n_physical_experts=(?P<experts>\d+) must be divisible by ep_size=(?P<ranks>\d+)",
        "{experts} experts do not divide over {ranks} ranks.",
        "Choose a number of GPUs that divides the experts, or leave expert parallelism out.",
        text="AssertionError: n_physical_experts=256 must be divisible by ep_size=3. Adjust "
        "num_redundant_experts.",
        source=f"{_V}#52435, 2026-08-15", field=_EXPERTS,
    ),
    log_pattern(
        "EVL-NO-EXPERTS", _CONFIG,
        r"Number of experts in the model must be greater than 0",
        "Experts were to be kept whole on ranks, and the model, or the one that drafts for it, has "
        "none.",
        "Leave expert parallelism out.",
        text="Value error, Number of experts in the model must be greater than 0 when expert "
        "parallelism is enabled.",
        source="vLLM, config/model.py", field=_EXPERTS,
    ),
    log_pattern(
        "EVL-RANKS-BEYOND-EXPERTS", _CONFIG,
        r"Tensor (?:model )?parallel size (?P<ranks>\d+) is greater than the number of experts "
        r"(?P<experts>\d+)",
        "{ranks} ranks share {experts} experts, and this vLLM gives each rank one or more.",
        "Lower tensor_parallel_count, or use a newer vLLM.",
        text="ValueError: Tensor parallel size 16 is greater than the number of experts 8.",
        source=f"{_V}#2452, 2024-01-16", field=TENSOR_PARALLEL,
    ),
    log_pattern(
        "EVL-STATE-GROUPS", _CONFIG,
        r"tensor parallel world size does not divide num_groups",
        "The groups of the model's state-space layers do not divide over so many GPUs.",
        "Choose a tensor parallel size that divides them (`n_groups` in config.json).",
        text="AssertionError: If tensor parallel world size does not divide num_groups, then "
        "num_groups must equal 1.",
        source=f"{_V}#55091, 2026-09-03", field=TENSOR_PARALLEL,
    ),
    log_pattern(
        "EVL-NOT-DIVISIBLE", _CONFIG,
        r"AssertionError: (?P<size>\d+) is not divisible by (?P<ranks>\d+)",
        "A size of the model, {size}, does not divide by {ranks} GPUs.",
        "Choose a tensor parallel size that divides it, or pipeline stages.",
        text="AssertionError: 25 is not divisible by 4",
        source=f"{_V}#8097, 2024-09-03", field=TENSOR_PARALLEL,
    ),
)  # fmt: skip
