from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from controlplane.domain.facts.checkpoints import CheckpointFacts
from controlplane.domain.facts.gpus import CPU
from controlplane.domain.forecast import memory
from controlplane.domain.forecast.disk import DiskNeed, disk_need
from controlplane.domain.forecast.durations import step_seconds
from controlplane.domain.forecast.estimate import Basis, Estimate
from controlplane.domain.forecast.history import NOTHING_PAST, PastStepRecord
from controlplane.domain.lifecycle import steps_of_build
from controlplane.domain.memory.memory_plan import Device
from controlplane.domain.spec import Spec

FORMAT = 1


@dataclass(frozen=True, kw_only=True)
class StepForecast:
    """One step; None where neither earlier builds nor a formula say."""

    name: str
    seconds: Estimate | None
    host_bytes: Estimate | None

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "seconds": _json(self.seconds),
            "host_bytes": _json(self.host_bytes),
        }


@dataclass(frozen=True, kw_only=True)
class BuildForecast:
    """What a build takes, apart from its place in the queue, which changes by the minute."""

    device_kind: str
    device_count: int
    steps: tuple[StepForecast, ...]
    device_bytes: Estimate | None
    device_absent: str | None
    """Why no GPU memory is told."""
    disk: DiskNeed

    @property
    def seconds(self) -> Estimate | None:
        """All steps together; None where one of them is unknown."""
        parts = [each.seconds for each in self.steps]
        known = [each for each in parts if each is not None]
        if len(known) < len(parts):
            return None
        measured = [each for each in known if each.basis is Basis.MEASURED]
        is_measured = len(measured) == len(known)
        return Estimate(
            low=sum(each.low for each in known),
            high=sum(each.high for each in known),
            basis=Basis.MEASURED if is_measured else Basis.FORMULA,
            source=f"the sum of its steps, {len(measured)} of {len(known)} measured before",
            builds=min((each.builds for each in measured), default=0) if is_measured else 0,
        )

    @property
    def host_bytes(self) -> Estimate | None:
        """The step that holds most, of those that are known."""
        known = [each.host_bytes for each in self.steps if each.host_bytes is not None]
        return max(known, key=lambda each: each.high, default=None)

    def to_json(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "device": {"kind": self.device_kind, "count": self.device_count},
            "seconds": _json(self.seconds),
            "host_bytes": _json(self.host_bytes),
            "device_bytes": _json(self.device_bytes),
            "device_absent": self.device_absent,
            "disk": self.disk.to_json(),
            "steps": [each.to_json() for each in self.steps],
        }


def forecast(
    spec: Spec,
    facts: CheckpointFacts,
    device: Device,
    *,
    host: memory.Host | None,
    past: Mapping[str, PastStepRecord] | None = None,
    is_fetched: bool = False,
) -> BuildForecast:
    """Return what building this config takes; measured earlier builds come before any formula.

    `host` is the machine whose memory the smoke test's engine is planned on; `past` holds what
    builds of the same kind took, by step.
    """
    disk = disk_need(spec, facts, is_fetched=is_fetched)
    past = _that_holds(past or {}, disk)
    seconds = step_seconds(spec, facts, device, disk)
    host_bytes = memory.host_bytes(spec, facts, host)
    device_bytes = past.get("calibrate", NOTHING_PAST).device_bytes or memory.device_bytes(
        spec, facts, device
    )
    return BuildForecast(
        device_kind=device.kind,
        device_count=spec.engine_build.num_builder_gpus or spec.accelerator_count,
        steps=tuple(
            StepForecast(
                name=name,
                seconds=past.get(name, NOTHING_PAST).seconds or seconds.get(name),
                host_bytes=past.get(name, NOTHING_PAST).host_bytes or host_bytes.get(name),
            )
            for name in steps_of_build(quantizes=not spec.quantization_type.is_none)
        ),
        device_bytes=device_bytes,
        device_absent=None if device_bytes else _why_no_device(spec),
        disk=disk,
    )


def _that_holds(past: Mapping[str, PastStepRecord], disk: DiskNeed) -> Mapping[str, PastStepRecord]:
    """Return the steps that tell something: a download that found its files there tells nothing."""
    if disk.download_bytes == 0:
        return past
    return {name: record for name, record in past.items() if name != "fetch"}


def _why_no_device(spec: Spec) -> str:
    if spec.accelerator is None:
        return f"it runs on the {CPU}"
    if spec.quantization_type.is_none:
        return "nothing is quantized, so no step computes on a GPU before the engine starts"
    return "the checkpoint does not say how many parameters it has"


def _json(estimate: Estimate | None) -> dict[str, Any] | None:
    return estimate.to_json() if estimate else None
