"""What ModelOpt says of single weights: scales that are no scales, sizes that do not pack."""

from controlplane.domain.failures import fields
from controlplane.domain.failures.failure import Blame
from controlplane.domain.failures.fixes import more_devices, plain_fp8, shorter_samples, unquantized
from controlplane.domain.failures.pattern import log_pattern

_CHECKED = "2026-11-30"
_M = "nvidia-modelopt 0.47.0, torch"

PATTERNS = (
    log_pattern(
        "EHQ-ZERO-SCALE",
        Blame.CHECKPOINT,
        r"(?:Failed to export \w+ '(?P<module>[\w.]+)' [^\n]*?)?"
        r"scaling factor [\s\S]{1,600}?not positive|max_amax must be positive",
        "A layer of {repo} saw nothing but zeros while it was calibrated, or its weights "
        "are all zero, so it has no scale.",
        "Serve it unquantized: a layer that is dead on purpose, or an expert that no sample "
        "reached, has no scale in any format.",
        more="It is `{module}`.",
        field=fields.QUANTIZATION,
        fix=unquantized,
        text="AssertionError: Failed to export module 'model.layers.3.mlp.down_proj' "
        "(type=QuantLinear): activation scaling factor tensor([0.]) not positive.",
        source="NVIDIA/Model-Optimizer#2438, 2026-09-15",
        checked=_CHECKED,
    ),
    log_pattern(
        "EHQ-EXPERTS-UNSEEN",
        Blame.CONFIGURATION,
        r"MoE calibration incomplete: some experts received no tokens",
        "Calibration ran, and some experts of {repo} never saw a token.",
        "Raise `calib_size`, or use more varied data.",
        field=fields.DATASET,
        text="RuntimeError: MoE calibration incomplete: some experts received no tokens "
        "during calibration.",
        source=f"{_M}/quantization/model_calib.py",
        checked=_CHECKED,
    ),
    log_pattern(
        "EHQ-PACKED-ALREADY",
        Blame.CONFIGURATION,
        r"'QuantLinear' object has no attribute 'weight'",
        "The weights of {repo} are packed integers already, and cannot be quantized to "
        "`{quantization}` once more.",
        "Build with `no_quant`, or from the original weights.",
        field=fields.QUANTIZATION,
        fix=unquantized,
        text="AttributeError: 'QuantLinear' object has no attribute 'weight'",
        source="vllm-project/vllm#4714, 2024-05-16",
        checked=_CHECKED,
    ),
    log_pattern(
        "EHQ-TIED",
        Blame.CHECKPOINT,
        r"Tied-weight export mismatch: '(?P<alias>[\w.]+)' differs from its canonical "
        r"'(?P<first>[\w.]+)'",
        "`{alias}` and `{first}` of {repo} are one weight, and were quantized to two "
        "different ones.",
        "Serve it unquantized, and report this with the support bundle.",
        field=fields.QUANTIZATION,
        fix=unquantized,
        text="RuntimeError: Tied-weight export mismatch: 'lm_head.weight' differs from its "
        "canonical 'model.embed_tokens.weight'.",
        source=f"{_M}/export/quant_utils.py",
        checked=_CHECKED,
    ),
    log_pattern(
        "EHQ-PACKING",
        Blame.CONFIGURATION,
        r"Cannot pack weight with input dimension (?P<width>\d+) and block size (?P<block>\d+)|"
        r"Cannot pack weight\. Out dimension (?P<odd>\d+) is not an even number",
        "A weight of {repo} does not divide into the blocks or the pairs that "
        "`{quantization}` packs numbers in.",
        "Use an FP8 type, which packs nothing.",
        more="It is {width} numbers wide, and a block has {block}.",
        field=fields.QUANTIZATION,
        fix=plain_fp8,
        text="NotImplementedError: Cannot pack weight with input dimension 1100 and block size "
        "128: partial blocks are not supported.",
        source=f"{_M}/export/quant_utils.py",
        checked=_CHECKED,
    ),
    log_pattern(
        "EHQ-NOTHING-QUANTIZED",
        Blame.CHECKPOINT,
        r"no weight quantizer is\s+enabled, so nothing would be quantized",
        "`{quantization}` finds no layer in {repo} that it could quantize: ModelOpt does "
        "not know the class.",
        "Serve it unquantized, or use a quantized checkpoint of its makers.",
        field=fields.QUANTIZATION,
        fix=unquantized,
        text="RuntimeError: The quantization config asks for weight quantization but no weight "
        "quantizer is enabled, so nothing would be quantized.",
        source=f"{_M}/quantization/model_quant.py",
        checked=_CHECKED,
    ),
    log_pattern(
        "EHQ-FORMAT",
        Blame.CHECKPOINT,
        r"quantization format (?P<format>\w+) not supported|"
        r"Unsupported quantizer with num_bits: (?P<bits>[^\n]+)",
        "ModelOpt quantized {repo} in a format that it cannot write.",
        "Use `fp8`, or serve it unquantized.",
        more="It is `{format}`.",
        field=fields.QUANTIZATION,
        fix=plain_fp8,
        text="NotImplementedError: quantization format w4a8_awq not supported",
        source=f"{_M}/export/quant_utils.py",
        checked=_CHECKED,
    ),
    log_pattern(
        "EHQ-SEARCH-MEMORY",
        Blame.MACHINE,
        r"Clip search on (?P<module>[\w.]+) failed due to CUDA out\s?of memory",
        "The search for the best scales of `{module}` filled the GPU.",
        "Use shorter calibration samples, or build with more GPUs.",
        field=fields.SAMPLE_LENGTH,
        fix=shorter_samples,
        text="RuntimeError: Clip search on model.layers.0.mlp.up_proj failed due to CUDA out "
        "of memory, try reducing max_co_batch_size",
        source=f"{_M}/quantization/model_calib.py",
        checked=_CHECKED,
    ),
    log_pattern(
        "EHQ-STREAMED",
        Blame.MACHINE,
        r"Streaming export requires discoverable decoder layers|"
        r"Disk/CPU-offloaded export cannot reverse tensor-level split rules",
        "{repo} did not fit the memory of {devices} GPU(s), and its class cannot be "
        "written piece by piece.",
        "Build with more GPUs or larger ones, so that the model fits as a whole.",
        field=fields.BUILDER_GPUS,
        fix=more_devices,
        text="RuntimeError: Streaming export requires discoverable decoder layers. The model "
        "architecture is not supported by LayerActivationCollector.",
        source=f"{_M}/export/unified_export_hf_streaming.py",
        checked=_CHECKED,
    ),
)
