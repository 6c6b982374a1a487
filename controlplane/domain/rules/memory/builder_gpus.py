"""EH5: whether quantizing fits the GPUs that a build leases."""

from controlplane.domain.facts import sources
from controlplane.domain.facts.gpus import GIB
from controlplane.domain.memory import builder_devices
from controlplane.domain.memory.sizing import BuilderNeed
from controlplane.domain.rules.context import Context
from controlplane.domain.rules.examples import LLAMA_70B, Example
from controlplane.domain.rules.rule import GPU_RUNTIMES, Fix, Rule, Severity, at

_ACCELERATOR = "resources.accelerator"
_BUILDERS = "trt_llm.build.num_builder_gpus"
_TENSOR = "trt_llm.build.tensor_parallel_count"


def _builders(c: Context) -> BuilderNeed | None:
    return builder_devices(c.spec, c.checkpoint, c.device.memory_bytes) if c.device else None


def _builder_count(c: Context) -> int:
    return c.spec.engine_build.num_builder_gpus or c.spec.accelerator_count


def _builder_message(c: Context) -> str:
    need = _builders(c)
    if need is None:
        return ""
    return (
        f"Quantizing holds the 16-bit and the quantized weights side by side, about "
        f"{need.peak_bytes / GIB:.1f} GiB: {need.devices} of `{c.gpu.kind}` where this build would "
        f"lease {_builder_count(c)}. Serving needs fewer."
    )


BUILDERS = Rule(
    code="EH504",
    name="too-few-builder-gpus",
    severity=Severity.WARNING,
    runtimes=GPU_RUNTIMES,
    needs=("checkpoint",),
    fields=at(_BUILDERS),
    concerns=lambda c: not c.spec.quantization_type.is_none and c.device is not None,
    when=lambda c: (need := _builders(c)) is not None and need.devices > _builder_count(c),
    message=_builder_message,
    fix=Fix(
        label=lambda c: f"Use {need.devices} builder GPUs" if (need := _builders(c)) else "",
        patch=lambda c: {_BUILDERS: need.devices} if (need := _builders(c)) else None,
        safe=True,
    ),
    source=sources.tensorrt_llm("issue 1331: memory of calibration"),
    bad=Example(
        config={_ACCELERATOR: "H100:2", _TENSOR: 2, "trt_llm.build.quantization_type": "fp8_kv"},
        checkpoint=LLAMA_70B,
    ),
    good=Example(
        config={
            _ACCELERATOR: "H100:2",
            _TENSOR: 2,
            "trt_llm.build.quantization_type": "fp8_kv",
            _BUILDERS: 4,
        },
        checkpoint=LLAMA_70B,
    ),
)
