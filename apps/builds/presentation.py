from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from apps.builds.failures.fixes import fix_origin
from apps.builds.failures.panel import failure_panel
from apps.builds.forecasts.forecast import queue_before
from apps.builds.forecasts.panel import ForecastPanel, forecast_panel
from apps.builds.forecasts.time_left import time_left_words
from apps.builds.held_devices import held_devices, held_words, waiting_of
from apps.builds.models import Build, BuildStep
from apps.builds.panels.calibration import CalibrationPanel
from apps.builds.panels.gate import GatePanel
from apps.builds.panels.reuse import reuse_panel
from apps.builds.passports.passport import passport_rows, short_digest
from apps.builds.selectors import build_maker, build_previous
from apps.builds.step_labels import LABELS
from apps.ui import formats
from apps.ui.tones import title
from controlplane import clock
from controlplane.domain.gate_result import GateResult
from controlplane.domain.lifecycle import (
    BUILD_MOVES,
    BUILD_TERMINAL,
    STEP_TERMINAL,
    BuildState,
    StepState,
)
from controlplane.domain.spec import Spec
from controlplane.domain.spec.choices import RuntimeChoice


@dataclass(frozen=True, kw_only=True)
class StepView:
    step: BuildStep
    build_ended_at: datetime | None

    @property
    def label(self) -> str:
        return LABELS.get(self.step.name, self.step.name)

    @property
    def is_running(self) -> bool:
        return self.step.state == StepState.RUNNING

    @property
    def ended_at(self) -> datetime | None:
        """When its clock stopped; a step that a crash cut short ended with its build."""
        return self.step.finished_at or self.build_ended_at

    @property
    def progress_words(self) -> str:
        """How far it is: `1.2 GiB of 4 GiB`, `12 of 40 files`."""
        done, total, unit = (
            self.step.progress_done,
            self.step.progress_total,
            self.step.progress_unit,
        )
        if not unit or (not done and not total):
            return ""
        if unit == "bytes":
            return f"{formats.size(done)} of {formats.size(total)}" if total else formats.size(done)
        counted = f"{formats.number(done)} of {formats.number(total)}" if total else f"{done}"
        left = self.step.progress_seconds_left
        return f"{counted} {unit}" + (f", {formats.duration(left)} left" if left else "")


@dataclass(frozen=True, kw_only=True)
class BuildRow:
    build: Build

    @property
    def step_words(self) -> str:
        """Where it stands: `package, 3 of 4`."""
        steps = list(self.build.steps.all())
        for position, step in enumerate(steps, start=1):
            if step.state not in STEP_TERMINAL or step.state == StepState.FAILED:
                is_idle = self.build.state in (BuildState.QUEUED, BuildState.CANCELLED)
                return formats.ABSENT if is_idle else f"{step.name}, {position} of {len(steps)}"
        return f"{len(steps)} of {len(steps)}"

    @property
    def hardware(self) -> str:
        resources = self.build.revision.spec.get("resources") or {}
        return hardware_words(resources.get("accelerator"))


def build_context(build: Build) -> dict[str, Any]:
    calibration, gate = calibration_of(build), gate_of(build)
    return {
        "build": build,
        "steps": [
            StepView(step=step, build_ended_at=build.finished_at) for step in build.steps.all()
        ],
        "time_left": time_left_words(build, clock.now()),
        "waiting": waiting_of(build),
        "runtime": runtime_words(build),
        "held": [(held_words(each), each.device.node.name) for each in held_devices(build)],
        "tab_title": title(build.state, f"build {build.number}"),
        "may_cancel": build.state not in BUILD_TERMINAL and build.cancel_requested_at is None,
        "may_retry": BUILD_MOVES[BuildState(build.state)] == {BuildState.QUEUED},
        "failed": failure_panel(build),
        "origin": fix_origin(build),
        "artifact": build.artifact,
        "short_digest": short_digest(build.artifact.content_digest) if build.artifact else "",
        "smoke_test": smoke_test_of(build),
        "calibration": calibration,
        "gate": gate,
        "forecast": _forecast(build),
        "reuse": reuse_panel(build),
        "previous": build_previous(build),
        "may_promote": _is_stopped_by_gate(build),
        "passport_rows": passport_rows(
            build.artifact, with_calibration=calibration is None, with_gate=gate is None
        )
        if build.artifact
        else [],
    }


def _forecast(build: Build) -> ForecastPanel | None:
    is_waiting = build.state == BuildState.QUEUED
    return forecast_panel(build, queue_before(pool=build.pool, build=build) if is_waiting else None)


def runtime_words(build: Build) -> str:
    """Return what serves the artifact, and where; empty where an older release did not keep it."""
    if not build.runtime:
        return ""
    spec = Spec.model_validate(build.revision.spec)
    named = " ".join(filter(None, (f"`{build.runtime}`", _version_of_engine(build))))
    sentence = f"Served by {named} on {hardware_words(str(spec.accelerator or ''))}."
    if spec.settings.runtime is not RuntimeChoice.AUTO:
        return sentence
    return f"{sentence} The config leaves the runtime open; it was chosen when the build was made."


def _version_of_engine(build: Build) -> str:
    engine = (_result_of(build, "smoke_test") or {}).get("engine") or {}
    return str(engine.get("version") or "")


def hardware_words(accelerator: str | None) -> str:
    """Return `H100 × 2`, or `CPU`."""
    if not accelerator:
        return "CPU"
    kind, _, count = accelerator.partition(":")
    return f"{kind}\u00a0×\u00a0{count}" if count else kind


def smoke_test_of(build: Build) -> Mapping[str, Any] | None:
    result = _result_of(build, "smoke_test")
    return result if result and "answer" in result else None


def calibration_of(build: Build) -> CalibrationPanel | None:
    result = _result_of(build, "calibrate")
    if not result or not result.get("calibration"):
        return None
    samples = result.get("samples") or ()
    return CalibrationPanel(
        calibration=result["calibration"],
        samples=samples,
        shown_by=None if samples else build_maker(build),
    )


def gate_of(build: Build) -> GatePanel | None:
    result = _result_of(build, "gate")
    if not result or "state" not in result:
        return None
    return GatePanel(result=GateResult.model_validate(result))


def _is_stopped_by_gate(build: Build) -> bool:
    return build.state == BuildState.FAILED and any(
        step.name == "gate" and step.state == StepState.FAILED and step.result
        for step in build.steps.all()
    )


def _result_of(build: Build, name: str) -> Mapping[str, Any] | None:
    step = next((step for step in build.steps.all() if step.name == name), None)
    result: Mapping[str, Any] | None = step.result if step else None
    return result
