"""What ModelOpt says of a model that it cannot calibrate, quantize or export."""

import re

from controlplane.domain.failures import fields
from controlplane.domain.failures.failure import Blame
from controlplane.domain.failures.fixes import plain_fp8, unquantized
from controlplane.domain.failures.pattern import Example, Pattern, log_pattern

_CHECKED = "2026-11-28"
_EXPORT = "nvidia-modelopt 0.47.0, torch/export/unified_export_hf.py"
_QUANTIZER = "nvidia-modelopt 0.47.0, torch/quantization/nn/modules/tensor_quantizer.py"

PATTERNS = (
    log_pattern(
        "EHQ-UNSEEN",
        Blame.CONFIGURATION,
        r"Calibrator returned None|Weight quantizer does not have attribute amax",
        "Calibration ran, and a layer of {repo} that `{quantization}` quantizes never "
        "saw a number: mostly an expert that no sample was routed to.",
        "Raise `calib_size` or use more varied data; `fp8_mlp_only` and `fp8` differ in what "
        "they quantize.",
        field=fields.QUANTIZATION,
        fix=plain_fp8,
        text="RuntimeError: Calibrator returned None. This usually happens when calibrator "
        "hasn't seen any tensor.",
        source=_QUANTIZER,
    ),
    log_pattern(
        "EHQ-BLOCK-WIDTH",
        Blame.CONFIGURATION,
        r"Weight shape is not divisible for block size",
        "`{quantization}` works in blocks, and the width of a weight of {repo} does not "
        "divide into them.",
        "Use an FP8 type, which has no blocks.",
        field=fields.QUANTIZATION,
        fix=plain_fp8,
        text="AssertionError: Weight shape is not divisible for block size for block quantization.",
        source="nvidia-modelopt 0.47.0, torch/quantization/qtensor/nvfp4_tensor.py",
        checked="2026-11-29",
    ),
    log_pattern(
        "EHQ-MIXED-FORMATS",
        Blame.CONFIGURATION,
        r"Modules have different quantization formats|"
        r"Do not support mixed precision kv cache quantization",
        "Layers of {repo} that an engine loads as one were quantized to `{quantization}` "
        "in different formats, which the export refuses.",
        "Use `fp8`, which takes every linear layer alike.",
        field=fields.QUANTIZATION,
        fix=plain_fp8,
        text="AssertionError: Modules have different quantization formats",
        source="nvidia-modelopt 0.47.0, torch/export/quant_utils.py",
        checked="2026-11-29",
    ),
    log_pattern(
        "EHQ-BLOCK-SHAPE",
        Blame.CONFIGURATION,
        r"Block-quantization requires a fixed input shape",
        "`{quantization}` works in blocks, and a layer of {repo} is given inputs of "
        "changing width.",
        "Use an FP8 type, which has no blocks.",
        field=fields.QUANTIZATION,
        fix=plain_fp8,
        text="ValueError: Input shape has changed from torch.Size([4, 64]) to torch.Size([4, "
        "32]). Block-quantization requires a fixed input shape.",
        source=_QUANTIZER,
    ),
    log_pattern(
        "EHQ-SCALE-SHAPE",
        Blame.CONFIGURATION,
        r"Changing shape when setting (?P<what>\w+) is not allowed",
        "The scales of {repo} changed their shape (`{what}`) while it was quantized to "
        "`{quantization}`.",
        "Build with plain `fp8`, and report this with the support bundle.",
        field=fields.QUANTIZATION,
        fix=plain_fp8,
        text="RuntimeError: Changing shape when setting amax is not allowed.",
        source=_QUANTIZER,
    ),
    log_pattern(
        "EHQ-EXPERTS",
        Blame.CHECKPOINT,
        r"MoE model with experts type '(?P<experts>\w+)' is not supported in export",
        "The experts of {repo} are of class `{experts}`, which ModelOpt quantizes and "
        "cannot write.",
        "Serve it unquantized, or use a quantized checkpoint of its makers.",
        field=fields.QUANTIZATION,
        fix=unquantized,
        text="NotImplementedError: MoE model with experts type 'FusedExperts' is not "
        "supported in export.",
        source=_EXPORT,
    ),
    log_pattern(
        "EHQ-OFFLOADED",
        Blame.MACHINE,
        r"is a meta tensor during\s+export|does not support disk/CPU-offloaded models",
        "{repo} did not fit the memory of {devices} GPU(s) and the machine, so its export "
        "lacks weights.",
        "Build with more GPUs or on a machine with more memory.",
        field="trt_llm.build.num_builder_gpus",
        text="RuntimeError: Weight 'weight' of Linear is a meta tensor during export.",
        source=_EXPORT,
    ),
    Pattern(
        code="EHQ-DUMMY-RUN",
        blame=Blame.CHECKPOINT,
        expression=re.compile(
            r"QKV fusion dummy forward failed for (?P<model>\w+); .*?"
            r"Original error: (?P<reason>[^\n]{1,160})",
            re.S,
        ),
        sentence="`{model}` could not be run once while it was exported: {reason}",
        hint="Serve it unquantized, and report this with the support bundle.",
        field=fields.QUANTIZATION,
        fix_for=unquantized,
        example=Example(
            text="RuntimeError: QKV fusion dummy forward failed for ZambaForCausalLM; a working "
            "dummy forward is required to export this model correctly. Original error: 'mamba'",
            source=_EXPORT,
            checked=_CHECKED,
        ),
    ),
    log_pattern(
        "EHQ-SHARED-TENSORS",
        Blame.OURS,
        r"Some tensors share memory, [^\n]*loading them again: (?P<names>.+)",
        "Two tensors of {repo} are one and the same in memory, and the export would "
        "write them twice: {names}",
        "Serve it unquantized, and report this with the support bundle.",
        field=fields.QUANTIZATION,
        fix=unquantized,
        text="Some tensors share memory, this will lead to duplicate memory on disk and "
        "potential differences when loading them again: [{'b', 'a'}].",
        source="safetensors 0.8.0, torch.py",
    ),
    log_pattern(
        "EHQ-SHAPES",
        Blame.CHECKPOINT,
        r"mat1 and mat2 shapes cannot be multiplied \((?P<left>\w+) and (?P<right>\w+)\)",
        "Two layers of {repo} do not fit each other: one gives {left} numbers and the "
        "next takes {right}.",
        "Check that config.json and weights belong to one model.",
        field="trt_llm.build.checkpoint_repository.revision",
        text="RuntimeError: mat1 and mat2 shapes cannot be multiplied (2x3 and 4x5)",
        source="torch 2.13.0",
    ),
    log_pattern(
        "EHQ-COMPILER",
        Blame.MACHINE,
        r"CUDA_HOME environment variable is not set|"
        r"Ninja is required to load C\+\+ extensions|"
        r"No such file or directory: '(?:\S*/)?(?:nvcc|ninja)'",
        "ModelOpt compiles its kernels on first use, and this build worker lacks the tools for it.",
        "Install the CUDA toolkit and ninja on the build worker, and set CUDA_HOME.",
        text="OSError: CUDA_HOME environment variable is not set. Please set it to your CUDA "
        "install root.",
        source="torch 2.13.0, utils/cpp_extension.py",
    ),
)
