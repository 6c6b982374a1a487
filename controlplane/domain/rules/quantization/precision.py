"""EH2: precision, hardware that has it, and models that survive it."""

from controlplane.domain.facts import sources
from controlplane.domain.facts.quantization import (
    FP4_CAPABILITY,
    FP8_CAPABILITY,
    NO_QUANT,
    PRECISIONS,
)
from controlplane.domain.rules.context import Context
from controlplane.domain.rules.examples import LLAMA_8B, Example, facts, on_trtllm
from controlplane.domain.rules.rule import (
    GPU_RUNTIMES,
    NATIVE,
    TRTLLM,
    Fix,
    Patch,
    Rule,
    Severity,
    at,
)
from controlplane.domain.runtimes.capability import Capability, Feature
from controlplane.domain.spec.choices import QuantizationType

QUANTIZATION = "trt_llm.build.quantization_type"
_ACCELERATOR = "resources.accelerator"
_PREQUANTIZED = facts(quantization_config={"quant_method": "modelopt", "quant_algo": "FP8"})


def _lacks(c: Context, capability: tuple[int, int]) -> bool:
    return c.gpu.compute_capability is not None and not c.gpu.has_capability(*capability)


def is_quantized(c: Context) -> bool:
    return not c.spec.quantization_type.is_none


def quantizes_all_to_four_bits(c: Context) -> bool:
    """Return whether attention is in 4 bits too."""
    kind = c.spec.quantization_type
    return kind.is_fp4 and not kind.precision.mlp_only


def use_no_quant(_: Context) -> Patch:
    return {QUANTIZATION: NO_QUANT}


def _next_lower_precision(c: Context) -> Patch:
    older = PRECISIONS[c.spec.quantization_type.precision.on_older_gpus]
    has_it = c.gpu.has_capability(*older.minimum_capability)
    return {QUANTIZATION: older.name if has_it else NO_QUANT}


def _lacking(c: Context) -> Capability | None:
    """Return what of an FP8 type the runtime refuses on this GPU; None where it refuses nothing."""
    kind = c.spec.quantization_type
    if not kind.is_fp8 or c.gpu.compute_capability is None:
        return None
    features = (Feature.FP8_WEIGHTS, *(Feature.FP8_KV_CACHE,) * kind.quantizes_kv_cache)
    return next((capability for capability in map(c.can, features) if capability.is_refused), None)


def _why_lacking(c: Context) -> str:
    capability = _lacking(c)
    return capability.how if capability else ""


FP8_ON_OLD_GPU = Rule(
    code="EH201",
    name="fp8-on-gpu-without-fp8",
    severity=Severity.ERROR,
    runtimes=GPU_RUNTIMES,
    fields=at(QUANTIZATION, _ACCELERATOR),
    when=lambda c: _lacking(c) is not None,
    message=lambda c: (
        f"`{c.spec.quantization_type}` does not run on `{c.gpu.kind}`, which has compute "
        f"capability {c.gpu.capability_text}: {_why_lacking(c)}. L4, L40S, H100, H200 and B200 "
        "have FP8."
        + (
            " The selection table lists A10G beside BEI's FP8; the GPU has none."
            if c.gpu.kind == "A10G" and c.spec.base_model.is_encoder
            else ""
        )
    ),
    fix=Fix(label="Use no_quant", patch=use_no_quant, safe=False),
    source=sources.quantization_guide("GPU support"),
    bad=Example(config={_ACCELERATOR: "A100", QUANTIZATION: "fp8_kv"}),
    good=Example(config={_ACCELERATOR: "H100", QUANTIZATION: "fp8_kv"}),
)

FP4_BELOW_BLACKWELL = Rule(
    code="EH202",
    name="fp4-below-blackwell",
    severity=Severity.ERROR,
    runtimes=TRTLLM,
    fields=at(QUANTIZATION, _ACCELERATOR),
    when=lambda c: c.spec.quantization_type.is_fp4 and _lacks(c, FP4_CAPABILITY),
    message=lambda c: (
        f"`{c.spec.quantization_type}` needs a Blackwell GPU (B200, B300, GB300, RTX_PRO_6000), "
        f"and `{c.gpu.kind}` has compute capability {c.gpu.capability_text}."
    ),
    fix=Fix(
        label="Use the next precision that this GPU has", patch=_next_lower_precision, safe=False
    ),
    source=sources.quantization_guide("GPU support"),
    bad=on_trtllm(Example(config={_ACCELERATOR: "H100", QUANTIZATION: "fp4_kv"})),
    good=on_trtllm(Example(config={_ACCELERATOR: "B200", QUANTIZATION: "fp4_kv"})),
)

REQUANTIZED = Rule(
    code="EH203",
    name="quantized-checkpoint-quantized-again",
    severity=Severity.ERROR,
    needs=("checkpoint",),
    fields=at(QUANTIZATION, "trt_llm.build.checkpoint_repository.repo"),
    concerns=is_quantized,
    when=lambda c: c.checkpoint.existing_quantization is not None,
    message=lambda c: (
        f"The checkpoint is already quantized ({_method(c)}) and cannot be quantized to "
        f"`{c.spec.quantization_type}` again."
    ),
    fix=Fix(label="Serve it as it is", patch=use_no_quant, safe=False),
    source=sources.quantization_guide("Pre-quantized checkpoints"),
    bad=Example(config={_ACCELERATOR: "H100", QUANTIZATION: "fp8"}, checkpoint=_PREQUANTIZED),
    good=Example(config={_ACCELERATOR: "H100"}, checkpoint=_PREQUANTIZED),
)


def _method(c: Context) -> str:
    existing = c.checkpoint.existing_quantization
    if existing is None:
        return ""
    return f"{existing.method} {existing.algorithm}" if existing.algorithm else existing.method


def _is_packed(c: Context) -> bool:
    return c.spec.quantization_type.precision.weights.is_packed


def _block(c: Context) -> int:
    return c.spec.quantization_type.precision.weights.block


def _emulated(c: Context, numbers: str) -> str:
    """Return what comes of quantization that the native engine only emulates."""
    where = (
        f"No accelerator is named, and a CPU has no {numbers}"
        if c.gpu.is_cpu
        else f"The native engine computes in 16 bits on `{c.gpu.kind}`"
    )
    return (
        f"{where}: `{c.spec.quantization_type}` is emulated, which shows its accuracy but saves "
        "neither time nor memory."
    )


EMULATED_ON_CPU = Rule(
    code="EH209",
    name="eight-bit-weights-on-cpu",
    severity=Severity.WARNING,
    runtimes=NATIVE,
    fields=at(QUANTIZATION, _ACCELERATOR),
    when=lambda c: c.spec.quantization_type.is_fp8 or bool(_block(c)),
    message=lambda c: _emulated(c, "FP8"),
    fix=Fix(label="Use no_quant", patch=use_no_quant, safe=False),
    source=sources.enginehouse("native engine, capabilities"),
    bad=Example(config={QUANTIZATION: "fp8"}),
    good=Example(),
)

FP4_ON_CPU = Rule(
    code="EH210",
    name="four-bit-weights-on-cpu",
    severity=Severity.WARNING,
    runtimes=NATIVE,
    fields=at(QUANTIZATION, _ACCELERATOR),
    when=lambda c: c.spec.quantization_type.is_fp4 or _is_packed(c),
    message=lambda c: _emulated(c, "INT4 kernels" if _is_packed(c) else "FP4"),
    fix=Fix(label="Use no_quant", patch=use_no_quant, safe=False),
    source=sources.enginehouse("native engine, capabilities"),
    bad=Example(config={QUANTIZATION: "fp4"}),
    good=Example(config={QUANTIZATION: "fp4", _ACCELERATOR: "B200"}),
)

LEGACY_TYPE = Rule(
    code="EH212",
    name="integer-quantization",
    severity=Severity.ERROR,
    fields=at(QUANTIZATION),
    when=lambda c: c.spec.quantization_type.is_legacy,
    message=lambda c: (
        f"`{c.spec.quantization_type}` is not built any more. The guide lists it for v1; the "
        "hosted server refuses it, and the parser of both accepts it."
    ),
    fix=Fix(
        label="Use what this GPU has instead",
        patch=lambda c: {
            QUANTIZATION: "fp8" if c.gpu.has_capability(*FP8_CAPABILITY) else NO_QUANT
        },
        safe=False,
    ),
    source=sources.truss("trt_llm_config.py, quantization types"),
    bad=Example(
        config={_ACCELERATOR: "H100", QUANTIZATION: QuantizationType.WEIGHTS_INT8.value},
        checkpoint=LLAMA_8B,
    ),
    good=Example(config={_ACCELERATOR: "H100", QUANTIZATION: "fp8"}, checkpoint=LLAMA_8B),
)
