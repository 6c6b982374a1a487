"""Seconds of each step: work over speed, from the best to the worst case.

Calibration is a forward pass over its tokens, one GPU at a time as ModelOpt maps it; set so that
8B, 32B and 70B come to the 3-6, 8-15 and 15-30 minutes that TensorRT-LLM users report, who have no
gate. For a CPU: ModelOpt 0.47 took SmolLM2-135M through 16 x 256 tokens in 22 s on two cores (50e9
operations a second), and importing torch and Transformers takes 6 s; measured 2026-11-27.
"""

from collections.abc import Mapping

from controlplane.domain.facts.bit_budgets import SEARCHED_SAMPLES, search_effort
from controlplane.domain.facts.checkpoints import CheckpointFacts
from controlplane.domain.facts.gpus import CPU, PLANNABLE_GPUS
from controlplane.domain.forecast.disk import ForecastDisk
from controlplane.domain.forecast.estimate import Estimate, by_formula
from controlplane.domain.memory.memory_plan import Device
from controlplane.domain.spec import Spec

BEST_CALIBRATION_SHARE, WORST_CALIBRATION_SHARE = 0.3, 0.12
"""Share of the GPU's arithmetic that calibration reaches."""
BEST_DISK_BYTES_PER_SECOND, WORST_DISK_BYTES_PER_SECOND = 2e9, 0.5e9
BEST_CORE_OPERATIONS_PER_SECOND, WORST_CORE_OPERATIONS_PER_SECOND = 100e9, 12e9
"""Of one core in calibration: native bfloat16 at best, emulated FP8 on a busy host at worst."""
ASSUMED_CORES = 2
BEST_LINK_BYTES_PER_SECOND, WORST_LINK_BYTES_PER_SECOND = 250e6, 12.5e6
"""2 Gbit/s and 100 Mbit/s."""
GATE_SAMPLES = 64
"""Most that are held out for the gate, which runs the original and the exported files."""
_START: Mapping[str, tuple[float, float]] = {
    "fetch": (0.3, 3.0),
    "inspect": (0.5, 30.0),  # at best the model class has answered for such tensors before
    "calibrate": (7.0, 30.0),
    "gate": (7.0, 30.0),
    "package": (0.3, 3.0),
    "smoke_test": (6.0, 40.0),
}
"""Seconds before and beside the work: imports, an engine's start, its first answer."""
_DEVICE_START: Mapping[str, tuple[float, float]] = {
    **_START,
    "calibrate": (20.0, 60.0),
    "gate": (18.0, 50.0),
    "smoke_test": (20.0, 60.0),
}


def step_seconds(
    spec: Spec, facts: CheckpointFacts, device: Device, disk: ForecastDisk
) -> Mapping[str, Estimate]:
    """Return step -> its seconds, for the steps that this build has."""
    is_on_cpu = device.kind == CPU
    read = facts.stored_weight_bytes or 0
    exported = disk.exported_bytes or read
    work = _calibration_operations(spec, facts)
    gate_work = _gate_operations(spec, facts)
    speed = _speed(device)
    seconds = {
        "fetch": _fetch(disk),
        "inspect": _step("inspect", is_on_cpu, 0, 0, speed),
        "package": _step("package", is_on_cpu, 2 * exported, 0, speed),
        "smoke_test": _step("smoke_test", is_on_cpu, 2 * exported, 0, speed),
    }
    if not spec.quantization_type.is_none:
        seconds["calibrate"] = _step("calibrate", is_on_cpu, read + exported, work, speed)
        seconds["gate"] = _step("gate", is_on_cpu, read + exported, gate_work, speed)
    return seconds


def _fetch(disk: ForecastDisk) -> Estimate:
    low, high = _START["fetch"]
    if not disk.download_bytes:
        low += (disk.copied_bytes or 0) / BEST_DISK_BYTES_PER_SECOND
        high += (disk.copied_bytes or 0) / WORST_DISK_BYTES_PER_SECOND
        return by_formula(low, high, "reading and hashing at 0.5 to 2 GB/s; nothing is downloaded")
    low += disk.download_bytes / BEST_LINK_BYTES_PER_SECOND
    high += disk.download_bytes / WORST_LINK_BYTES_PER_SECOND
    return by_formula(low, high, "a download at 100 Mbit/s to 2 Gbit/s")


def _step(
    name: str, is_on_cpu: bool, moved_bytes: int, operations: float, speed: tuple[float, float]
) -> Estimate:
    best, worst = (_START if is_on_cpu else _DEVICE_START)[name]
    best += moved_bytes / BEST_DISK_BYTES_PER_SECOND
    worst += moved_bytes / WORST_DISK_BYTES_PER_SECOND
    source = f"{best:.0f} to {worst:.0f} s to start, read and write at 0.5 to 2 GB/s"
    if operations and all(speed):
        best += operations / speed[0]
        worst += operations / speed[1]
        per_second = f"{speed[1] / 1e12:,.3g} to {speed[0] / 1e12:,.3g}"
        source += f"; {operations / 1e12:,.3g} T operations at {per_second} T a second"
        source += f" on {ASSUMED_CORES} cores" if is_on_cpu else ""
    return by_formula(best, worst, source)


def _speed(device: Device) -> tuple[float, float]:
    """Return operations a second, at best and at worst; zeros where nobody knows."""
    if device.kind == CPU:
        return (
            ASSUMED_CORES * BEST_CORE_OPERATIONS_PER_SECOND,
            ASSUMED_CORES * WORST_CORE_OPERATIONS_PER_SECOND,
        )
    gpu = PLANNABLE_GPUS.get(device.kind)
    flops = gpu.flops if gpu and gpu.flops else 0.0
    return flops * BEST_CALIBRATION_SHARE, flops * WORST_CALIBRATION_SHARE


def _calibration_operations(spec: Spec, facts: CheckpointFacts) -> int:
    """Return the arithmetic of calibration's passes over its tokens, 0 where there are none."""
    if spec.quantization_type.is_none or facts.existing_quantization is not None:
        return 0
    calibrated = spec.calibration_samples * _effort(spec)
    return round(_row_operations(spec, facts) * (calibrated + _searched(spec)))


def _row_operations(spec: Spec, facts: CheckpointFacts) -> int:
    active = facts.counts.active if facts.counts else facts.parameters or 0
    return 2 * active * spec.engine_build.quantization_config.calib_max_seq_length


def _searched(spec: Spec) -> float:
    """Return the work of a search within a budget of bits, in passes of a row."""
    rows = min(spec.calibration_samples, SEARCHED_SAMPLES)
    effort = search_effort(spec.quantization_type.precision.weights)
    return 0 if spec.bit_budget is None else rows * effort


def _gate_operations(spec: Spec, facts: CheckpointFacts) -> float:
    """Return the arithmetic of two models over the held-out samples."""
    if spec.quantization_type.is_none or facts.existing_quantization is not None:
        return 0.0
    passes = 2 * min(GATE_SAMPLES, spec.calibration_samples)
    return float(passes * _row_operations(spec, facts))


def _effort(spec: Spec) -> float:
    """Return the work of calibration as times that of one pass."""
    weights = spec.quantization_type.precision.weights
    return weights.modelopt_passes * weights.calibration_effort
