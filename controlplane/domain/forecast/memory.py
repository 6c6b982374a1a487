"""Peak memory of each step of a build: of its host, and of the GPUs that it quantizes on."""

from collections.abc import Mapping
from typing import Protocol

from controlplane.domain.facts.checkpoints import CheckpointFacts
from controlplane.domain.forecast.calibration_memory import (
    CPU_BATCH_TOKENS,
    calibration_bytes,
    comparison_bytes,
)
from controlplane.domain.forecast.estimate import Estimate, by_formula
from controlplane.domain.memory.build_estimate import HOST_SHARE
from controlplane.domain.memory.memory_plan import Device, UnplannableError
from controlplane.domain.memory.plan import plan
from controlplane.domain.memory.sizing import builder_devices
from controlplane.domain.memory.weights import FLOAT32_BYTES, SIXTEEN_BIT_BYTES
from controlplane.domain.runtimes import RUNTIMES
from controlplane.domain.spec import Spec

LEAST_STEP_BYTES, MOST_STEP_BYTES = 35_000_000, 160_000_000
"""A step that holds no model: Python, the checks and its clients; measured 2026-11-28."""
ENGINE_BYTES = 450_000_000
"""An engine before any model; its plan reserves twice as much. Measured 2026-11-28."""
_LIGHT = "Python and its libraries; the files go through in pieces"
_ON_CPU = (
    "0.8 GB for Python, torch and ModelOpt, the weights as the host computes in them "
    "(2 to 4 bytes a number), the exported copy at 0.6 of 16 bits, and up to one batch of "
    "2,048 tokens"
)
_SEARCHING = (
    "or the search for each layer's number, which keeps a copy of the weights for each number that "
    "it tries and what all layers give for one row of samples"
)
COMPARING_BYTES = 0.6e9
"""torch, Transformers and a class without weights; 45,000 tensors of 671 B took 0.53 GB."""
_COMPARING = "up to 0.6 GB where the model class is asked for its tensors"
_ON_DEVICES = f"{HOST_SHARE} bytes of host memory per byte of the checkpoint"


class Host(Device, Protocol):
    """A machine whose memory an engine is planned on."""

    @property
    def computes_bfloat16(self) -> bool: ...


def host_bytes(
    spec: Spec, facts: CheckpointFacts, host: Host | None
) -> Mapping[str, Estimate | None]:
    """Return step -> what its processes hold at most; None where no formula says."""
    light = by_formula(LEAST_STEP_BYTES, MOST_STEP_BYTES, _LIGHT)
    estimates: dict[str, Estimate | None] = dict.fromkeys(("fetch", "package"), light)
    estimates["inspect"] = by_formula(LEAST_STEP_BYTES, COMPARING_BYTES, _COMPARING)
    estimates["smoke_test"] = _engine(spec, facts, host)
    if not spec.quantization_type.is_none:
        estimates["calibrate"] = _of_model(spec, facts, calibrating=True)
        estimates["gate"] = _of_model(spec, facts, calibrating=False)
    return estimates


def device_bytes(spec: Spec, facts: CheckpointFacts, device: Device) -> Estimate | None:
    """Return what calibration holds on all leased GPUs together; None where it uses none."""
    if spec.accelerator is None:
        return None
    need = builder_devices(spec, facts, device.memory_bytes)
    if need is None:
        return None
    return by_formula(
        need.peak_bytes,
        need.peak_bytes,
        "the 16-bit copy and the quantized one side by side (NVIDIA/TensorRT-LLM#1331)",
    )


def _of_model(spec: Spec, facts: CheckpointFacts, *, calibrating: bool) -> Estimate | None:
    if facts.parameters is None and not facts.stored_weight_bytes:
        return None
    if spec.accelerator is not None:
        needed = HOST_SHARE * (facts.stored_weight_bytes or 0)
        return by_formula(needed, needed, _ON_DEVICES) if needed else None
    ask = calibration_bytes if calibrating else comparison_bytes
    low, high = (
        ask(spec, facts, number_bytes=width, batch_tokens=tokens)
        for width, tokens in ((SIXTEEN_BIT_BYTES, 0), (FLOAT32_BYTES, CPU_BATCH_TOKENS))
    )
    searches = calibrating and spec.bit_budget is not None
    return by_formula(low, high, f"{_ON_CPU}; {_SEARCHING}" if searches else _ON_CPU)


def _engine(spec: Spec, facts: CheckpointFacts, host: Host | None) -> Estimate | None:
    """Return what the engine of the smoke test may take, by the plan that it starts under."""
    runtime = RUNTIMES[spec.runtime_name]
    if host is None or runtime.needs_gpu:
        return None
    try:
        planned = plan(spec, facts, host, runtime.memory, computes_bfloat16=host.computes_bfloat16)
    except UnplannableError:
        return None
    least = planned.weights_bytes + ENGINE_BYTES
    one_request = min(planned.kv_cache_bytes, planned.sequence_tokens * planned.kv_bytes_per_token)
    return by_formula(
        least,
        planned.fixed_bytes + one_request,
        f"weights at {planned.kv_element_bytes:.0f} bytes a number and 0.45 GB of an idle engine, "
        "up to the native engine's plan with one batch and the KV cache of one full-length request",
    )
