"""What each step of a build has to hold before it starts: GPUs, or memory of the host."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import psutil

from apps.builds.services.devices import DeviceNeed
from controlplane.domain import memory
from controlplane.domain.facts.checkpoints import CheckpointFacts
from controlplane.domain.facts.gpus import CPU
from controlplane.domain.forecast.calibration_memory import (
    CPU_BATCH_TOKENS,
    calibration_bytes,
    comparison_bytes,
)
from controlplane.domain.memory.native_limits import effective_dtype
from controlplane.domain.memory.weights import FLOAT32_BYTES, SIXTEEN_BIT_BYTES
from controlplane.domain.runtimes import RUNTIMES
from controlplane.domain.spec import Spec
from controlplane.domain.spec.choices import RUNTIME_ON_CPU, Dtype
from workers.build_steps.processor import has_native_bfloat16

STEPS_WITH_DEVICES = frozenset({"calibrate", "gate", "smoke_test"})
_QUANTIZING = {"calibrate": calibration_bytes, "gate": comparison_bytes}


@dataclass(frozen=True, kw_only=True)
class _Host:
    kind: str
    memory_bytes: int


def step_need(
    step: str, spec: Spec, inspected: Mapping[str, Any], *, smallest_device_bytes: int
) -> DeviceNeed:
    """Return what the step needs; `smallest_device_bytes` is the least of its kind on this node.

    Quantizing takes `num_builder_gpus` whole GPUs where serving is to take GPUs at all, and
    memory of the host otherwise; an engine takes whole GPUs too, and on a CPU what its plan says.
    """
    checkpoint = CheckpointFacts.model_validate(inspected)
    kind = spec.accelerator.kind if spec.accelerator else CPU
    if step == "smoke_test":
        needed = _smoke_test_bytes(spec, checkpoint) if kind == CPU else smallest_device_bytes
        return DeviceNeed(kind=kind, count=spec.accelerator_count, memory_bytes=needed)
    if kind == CPU:
        needed = _host_bytes(step, spec, checkpoint, smallest_device_bytes)
        return DeviceNeed(kind=CPU, count=1, memory_bytes=needed)
    count = spec.engine_build.num_builder_gpus or spec.accelerator_count
    return DeviceNeed(kind=kind, count=count, memory_bytes=smallest_device_bytes)


def _smoke_test_bytes(spec: Spec, checkpoint: CheckpointFacts) -> int:
    """Return what the native engine needs to answer one request of full length."""
    host = _Host(kind=CPU, memory_bytes=psutil.virtual_memory().total)
    runtime = RUNTIMES[RUNTIME_ON_CPU].memory
    plan = memory.plan(spec, checkpoint, host, runtime, computes_bfloat16=has_native_bfloat16())
    one_request = min(plan.kv_cache_bytes, plan.sequence_tokens * plan.kv_bytes_per_token)
    return plan.fixed_bytes + int(one_request / min(max(plan.kv_fraction, 0.01), 1.0)) + 1


def _host_bytes(step: str, spec: Spec, checkpoint: CheckpointFacts, host_bytes: int) -> int:
    """Return what the step needs; for calibration enough for the gate too, where that fits.

    Otherwise someone could take between the two what hours of calibration were waiting for.
    """
    own = _in_fitting_type(step, spec, checkpoint, host_bytes)
    if step != "calibrate":
        return own
    both = max(own, _in_fitting_type("gate", spec, checkpoint, host_bytes))
    return both if both <= host_bytes else own


def _in_fitting_type(step: str, spec: Spec, checkpoint: CheckpointFacts, host_bytes: int) -> int:
    """Return the need in the type that the step will choose: the fastest one that fits."""

    def needed(number_bytes: int) -> int:
        return _QUANTIZING[step](
            spec, checkpoint, number_bytes=number_bytes, batch_tokens=CPU_BATCH_TOKENS
        )

    if _computes_in_half(step, spec, checkpoint) or needed(FLOAT32_BYTES) > host_bytes:
        return needed(SIXTEEN_BIT_BYTES)
    return needed(FLOAT32_BYTES)


def _computes_in_half(step: str, spec: Spec, checkpoint: CheckpointFacts) -> bool:
    """Return whether the step computes in 16 bits by choice: the gate as the engine will."""
    if step == "gate" and RUNTIMES[spec.runtime_name].takes_dtype:
        served = effective_dtype(spec, kind=CPU, computes_bfloat16=has_native_bfloat16())
        return served is Dtype.BFLOAT16
    return checkpoint.dtype == "bfloat16" and has_native_bfloat16()
