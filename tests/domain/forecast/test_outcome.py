"""Planned beside measured: ratios where both are known, and the reason where one is not."""

from typing import Any

from controlplane.domain.forecast import BuildForecast, Estimate
from controlplane.domain.forecast.build_forecast import StepForecast
from controlplane.domain.forecast.disk import ForecastDisk
from controlplane.domain.forecast.estimate import by_formula
from controlplane.domain.forecast.outcome import (
    Amount,
    Measured,
    StepTaken,
    compare,
    planned_only,
)


def estimate(low: float, high: float) -> Estimate:
    return by_formula(low, high, "it")


def taken(name: str, state: str = "finished", **measured: Any) -> StepTaken:
    whole = {
        "seconds": 4.0, "host": "node-1", "peak_host_bytes": 300, "peak_device_bytes": None,
        "device_bytes_from": None, "disk_bytes": 50,
    } | measured  # fmt: skip
    return StepTaken(
        name=name, state=state, measured=Measured(**whole) if state == "finished" else None
    )


FORECAST = BuildForecast(
    seconds=estimate(8, 12),
    host_bytes=estimate(200, 400),
    device_absent="it runs on the CPU",
    disk=ForecastDisk(download_bytes=0, exported_bytes=0, working_bytes=100, source="files"),
    steps=tuple(
        StepForecast(name=name, seconds=estimate(4, 6), host_bytes=estimate(100, 200))
        for name in ("fetch", "calibrate")
    ),
)


def test_the_whole_build_and_each_step_have_their_ratio() -> None:
    found = compare(FORECAST, [taken("fetch"), taken("calibrate")])
    whole = {each.amount: each for each in found if each.step is None}
    assert (whole[Amount.SECONDS].measured, whole[Amount.SECONDS].ratio) == (8.0, 0.8)
    assert whole[Amount.HOST].ratio == 1.0
    assert whole[Amount.DISK].ratio == 1.0
    assert (whole[Amount.DEVICE].measured, whole[Amount.DEVICE].absent) == (
        None,
        "it runs on the CPU",
    )
    assert [each.ratio for each in found if each.step == "fetch"] == [0.8, 2.0]


def test_a_device_that_was_measured_says_by_whom() -> None:
    device = {"device_bytes": estimate(1000, 1000), "device_absent": None}
    forecast = FORECAST.model_copy(update=device)
    steps = [taken("fetch"), taken("calibrate", peak_device_bytes=1100, device_bytes_from="NVML")]
    outcome = next(each for each in compare(forecast, steps) if each.amount is Amount.DEVICE)
    assert (outcome.ratio, outcome.measured_by) == (1.1, "NVML")


def test_a_build_that_is_not_over_has_no_time_yet_and_says_why() -> None:
    found = compare(FORECAST, [taken("fetch"), taken("calibrate", state="running")])
    assert (found[0].measured, found[0].absent) == (None, "1 step not finished")
    waiting = next(each for each in found if each.step == "calibrate")
    assert (waiting.measured, waiting.ratio, waiting.absent) == (None, None, "not over")


def test_reused_steps_took_no_time_and_nothing_was_measured() -> None:
    found = compare(FORECAST, [taken("fetch", "reused"), taken("calibrate", "reused")])
    assert found[0].absent == "every step was reused, so nothing ran"
    assert {each.absent for each in found if each.step} == {"reused: it took no time"}


def test_a_plan_alone_only_says_why_something_is_not_planned() -> None:
    assert [each.absent for each in planned_only(FORECAST) if each.absent] == ["it runs on the CPU"]
