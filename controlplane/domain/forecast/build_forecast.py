from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from controlplane.domain.facts.checkpoints import CheckpointFacts
from controlplane.domain.facts.gpus import CPU
from controlplane.domain.forecast import memory
from controlplane.domain.forecast.cached import Cached
from controlplane.domain.forecast.disk import ForecastDisk, disk_need
from controlplane.domain.forecast.durations import step_seconds
from controlplane.domain.forecast.estimate import Basis, Estimate
from controlplane.domain.forecast.history import NOTHING_PAST, PastStepRecord
from controlplane.domain.forecast.queueing import QueuePlace
from controlplane.domain.lifecycle import steps_of_build
from controlplane.domain.memory.memory_plan import Device
from controlplane.domain.record import Record
from controlplane.domain.spec import Spec


class StepForecast(Record):
    """One step; null where neither earlier builds nor a formula say."""

    name: str
    """The step."""
    seconds: Estimate | None
    """How long it takes."""
    host_bytes: Estimate | None
    """How much host memory it takes at its peak."""


class ForecastDevice(Record):
    """The GPUs that a build leases, or the CPU."""

    kind: str
    """Kind of GPU that the build leases; `CPU` where none."""
    count: int
    """How many of them."""


class BuildForecast(Record):
    """What a build takes, apart from its place in the queue, which changes by the minute."""

    device: ForecastDevice | None = None
    """What it leases."""
    seconds: Estimate | None = None
    """How long it takes once it runs."""
    host_bytes: Estimate | None = None
    """Host memory at its peak."""
    device_bytes: Estimate | None = None
    """GPU memory at its peak."""
    device_absent: str | None = None
    """Why nothing is said of GPU memory; null where something is."""
    disk: ForecastDisk | None = None
    """What it takes on disk."""
    steps: tuple[StepForecast, ...] = ()
    """The same by step."""


class Forecast(BuildForecast):
    """What a build takes; `absent` says why there is no more than its place in the queue."""

    made_at: datetime
    """When it was made."""
    absent: str | None
    """Why there is no more than the place in the queue; null where there is."""
    queue: QueuePlace
    """What comes before it."""
    cached: Cached | None = None
    """What need not be done again."""

    def to_json(self) -> dict[str, Any]:
        """Return the stored form, which says nothing of what is absent."""
        alone = {"made_at", "absent", "queue"} if self.absent else None
        return self.model_dump(mode="json", include=alone)


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
    steps = tuple(
        StepForecast(
            name=name,
            seconds=past.get(name, NOTHING_PAST).seconds or seconds.get(name),
            host_bytes=past.get(name, NOTHING_PAST).host_bytes or host_bytes.get(name),
        )
        for name in steps_of_build(quantizes=not spec.quantization_type.is_none)
    )
    return BuildForecast(
        device=ForecastDevice(
            kind=device.kind, count=spec.engine_build.num_builder_gpus or spec.accelerator_count
        ),
        seconds=_together(steps),
        host_bytes=_most(steps),
        device_bytes=device_bytes,
        device_absent=None if device_bytes else _why_no_device(spec),
        disk=disk,
        steps=steps,
    )


def _that_holds(
    past: Mapping[str, PastStepRecord], disk: ForecastDisk
) -> Mapping[str, PastStepRecord]:
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


def _together(steps: Sequence[StepForecast]) -> Estimate | None:
    """Return the time of all steps; None where that of one of them is unknown."""
    known = [each.seconds for each in steps if each.seconds is not None]
    if len(known) < len(steps):
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


def _most(steps: Sequence[StepForecast]) -> Estimate | None:
    """Return the memory of the step that holds most, of those that are known."""
    known = [each.host_bytes for each in steps if each.host_bytes is not None]
    return max(known, key=lambda each: each.high, default=None)
