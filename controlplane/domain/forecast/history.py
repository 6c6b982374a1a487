from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from controlplane.domain.forecast.estimate import Estimate, by_measurement
from controlplane.domain.spec import Spec

MOST_BUILDS = 5
"""Older ones say less of the machine as it is now."""


@dataclass(frozen=True, kw_only=True)
class PastStep:
    """One finished step of an earlier build; None where nobody measured."""

    name: str
    seconds: float
    peak_host_bytes: int | None = None
    peak_device_bytes: int | None = None
    disk_bytes: int | None = None


@dataclass(frozen=True, kw_only=True)
class PastStepRecord:
    seconds: Estimate | None = None
    host_bytes: Estimate | None = None
    device_bytes: Estimate | None = None
    disk_bytes: Estimate | None = None


NOTHING_PAST = PastStepRecord()


def steps_of_past(past: Iterable[PastStep]) -> Mapping[str, PastStepRecord]:
    """Return step -> what it took; `past` has the newest first."""
    steps: dict[str, list[PastStep]] = {}
    for each in past:
        runs = steps.setdefault(each.name, [])
        if len(runs) < MOST_BUILDS:
            runs.append(each)
    return {name: _record(runs) for name, runs in steps.items()}


def is_same_kind(one: Spec, other: Spec) -> bool:
    """Return whether two builds of these configs take about the same."""
    return _kind(one) == _kind(other)


def _kind(spec: Spec) -> tuple[object, ...]:
    checkpoint = spec.checkpoint
    calibration = spec.engine_build.quantization_config
    return (
        checkpoint and (checkpoint.source, checkpoint.repo),
        spec.quantization_type,
        spec.runtime_name,
        spec.accelerator and spec.accelerator.kind,
        # What calibration goes through; without quantization it goes through nothing.
        None
        if spec.quantization_type.is_none
        else (
            spec.calibration_samples,
            calibration.calib_max_seq_length,
            # A search takes the same for any budget, and no build without one takes as long.
            spec.bit_budget is not None,
        ),
    )


def _record(runs: list[PastStep]) -> PastStepRecord:
    return PastStepRecord(
        seconds=by_measurement([each.seconds for each in runs]),
        host_bytes=_measured(each.peak_host_bytes for each in runs),
        device_bytes=_measured(each.peak_device_bytes for each in runs),
        disk_bytes=_measured(each.disk_bytes for each in runs),
    )


def _measured(values: Iterable[int | None]) -> Estimate | None:
    return by_measurement([each for each in values if each is not None])
