"""vLLM's complaints about how weights divide over GPUs, and about compilers that it needs."""

from controlplane.domain.failures import Blame, fields
from controlplane.domain.failures.pattern import log_pattern
from controlplane.domain.runtimes.engine_log import TENSOR_PARALLEL

_V = "vllm-project/vllm"
_CONFIG, _CHECKPOINT, _MACHINE = Blame.CONFIGURATION, Blame.CHECKPOINT, Blame.MACHINE
_STAGES = "trt_llm.build.pipeline_parallel_count"

PATTERNS = (
    log_pattern(
        "EVL-MARLIN-SIZE", _CONFIG,
        r"Weight (?:in|out)put_size_per_partition = (?P<size>\d+) is not divisible by "
        r"min_thread_[nk] = (?P<unit>\d+)",
        "A weight of {size} numbers a GPU does not divide into the {unit} that vLLM's kernel for "
        "INT4 and INT8 (Marlin) takes at a time.",
        "Lower tensor_parallel_count, or serve a checkpoint quantized to FP8.",
        text="ValueError: Weight input_size_per_partition = 10944 is not divisible by min_thread_k "
        "= 128. Consider reducing tensor_parallel_size or running with --quantization gptq.",
        source=f"{_V}#9913, 2024-11-01", field=TENSOR_PARALLEL,
    ),
    log_pattern(
        "EVL-BLOCK-SIZE", _CONFIG,
        r"(?:weight|Weight \w+_size_per_partition|Weight \w+_partition_size) = (?P<size>\d+) is "
        r"not divisible by weight quantization block_[nk] = (?P<block>\d+)",
        "A weight of {size} numbers a GPU does not divide into the FP8 blocks of {block} that it "
        "is quantized in.",
        "Lower tensor_parallel_count, or divide experts instead (expert parallelism).",
        text="ValueError: The output_size of gate's and up's weight = 192 is not divisible by "
        "weight quantization block_n = 128.",
        source=f"{_V}#17569, 2025-05-02", field=TENSOR_PARALLEL,
    ),
    log_pattern(
        "EVL-QUANTIZED-SHARE", _CONFIG,
        r"The (?P<side>input|output) size is not aligned with the quantized weight shape",
        "The {side} of a quantized weight does not divide over so many GPUs in whole groups.",
        "Lower tensor_parallel_count.",
        text="ValueError: The output size is not aligned with the quantized weight shape. This can "
        "be caused by too large tensor parallel size.",
        source=f"{_V}#11671, 2025-01-01", field=TENSOR_PARALLEL,
    ),
    log_pattern(
        "EVL-MIXED-PRECISION", _CHECKPOINT,
        r"Detected some but not all shards of (?P<name>[\w.]+) are quantized",
        "`{name}` is several weights of the checkpoint in one, and only some of them are "
        "quantized.",
        "Quantize or leave out all of them together: q, k and v; gate and up. A newer vLLM may "
        "keep them apart.",
        text="ValueError: Detected some but not all shards of model.layers.0.linear_attn.in_proj "
        "are quantized. All shards of fused layers to have the same precision.",
        source=f"{_V}#25378, 2025-09-22", field=fields.REPO,
    ),
    log_pattern(
        "EVL-STAGES", _CONFIG,
        r"Pipeline parallelism is only supported for the following\s+architectures",
        "This vLLM cannot divide this model into pipeline stages.",
        "Use tensor parallelism instead, or a newer vLLM.",
        text="NotImplementedError: Pipeline parallelism is only supported for the following  "
        "architectures: ['AquilaForCausalLM', 'AquilaModel'].",
        source=f"{_V}#9015, 2024-10-02", field=_STAGES,
    ),
    log_pattern(
        "EVL-NVCC", _MACHINE,
        r"Could not find nvcc|nvcc: not found|No such file or directory: '(?:\S*/)?nvcc'",
        "FlashInfer compiles kernels at the first start, and this host has no CUDA compiler.",
        "Install the CUDA toolkit (`nvcc`) and set CUDA_HOME, use vLLM's image, or install "
        "`flashinfer-jit-cache` of the same version.",
        text="RuntimeError: Could not find nvcc and default cuda_home='/usr/local/cuda' doesn't "
        "exist",
        source="NVIDIA-NeMo/Gym#1405, 2026-05-26",
    ),
    log_pattern(
        "EVL-PTXAS", _MACHINE,
        r"ptxas fatal\s*: Value '(?P<target>sm_\w+)' is not defined for option 'gpu-name'",
        "Triton's own assembler does not know this GPU (`{target}`) yet.",
        "Set TRITON_PTXAS_PATH to the `ptxas` of a newer CUDA toolkit, or use a newer vLLM.",
        text="ptxas fatal   : Value 'sm_121a' is not defined for option 'gpu-name'",
        source=f"{_V}#29469, 2025-11-26",
    ),
    log_pattern(
        "EVL-PTX-VERSION", _MACHINE,
        r"PTX \.version (?P<version>[\d.]+) does not support \.target (?P<target>sm_\w+)",
        "The CUDA toolkit beside the engine is older than this GPU (`{target}`).",
        "Set TRITON_PTXAS_PATH to the `ptxas` of a newer CUDA toolkit, or use vLLM's image.",
        text="ptxas kernel.ptx, line 6; error   : PTX .version 8.4 does not support "
        ".target sm_120a",
        source="NixOS/nixpkgs#406675, 2025-07-01",
    ),
)  # fmt: skip
