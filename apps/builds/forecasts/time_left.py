"""How long a running build still takes: what its step says, and its forecast for those to come."""

from datetime import datetime

from apps.builds.models import Build, BuildStep
from apps.ui import formats
from controlplane.domain.forecast import BuildForecast, Estimate
from controlplane.domain.lifecycle import BUILD_TERMINAL, STEP_TERMINAL, BuildState, StepState


def time_left_words(build: Build, now: datetime) -> str:
    """Return `about 40 s to 2 min left`; empty where nobody knows or nothing runs."""
    if build.state in BUILD_TERMINAL or build.state == BuildState.QUEUED or not build.forecast:
        return ""
    forecast = BuildForecast.model_validate(build.forecast)
    planned = {each.name: each.seconds for each in forecast.steps}
    low = high = 0.0
    for step in build.steps.all():
        if step.state in STEP_TERMINAL:
            continue
        if step.waits_for or (left := _left(step, planned.get(step.name), now)) is None:
            return ""
        low, high = low + left[0], high + left[1]
    if high < 1:
        return ""
    first, last = formats.duration(low), formats.duration(high)
    return f"about {first if first == last else f'{first} to {last}'} left"


def _left(step: BuildStep, planned: Estimate | None, now: datetime) -> tuple[float, float] | None:
    """Return the least and the most seconds that a step still takes, None where nobody knows."""
    is_running = step.state == StepState.RUNNING
    if is_running and step.progress_seconds_left is not None:
        return step.progress_seconds_left, step.progress_seconds_left
    if planned is None:
        return None
    gone = (now - step.started_at).total_seconds() if is_running and step.started_at else 0.0
    return max(0.0, planned.low - gone), max(0.0, planned.high - gone)
