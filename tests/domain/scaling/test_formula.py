"""The documented formula and limits, as a table."""

import pytest

from controlplane.domain.scaling.formula import Load, replicas_for
from controlplane.domain.scaling.settings import LIMITS, ScalingSettings, problems_of


@pytest.mark.parametrize(
    ("in_flight", "target", "utilization", "replicas"),
    [
        (25, 10, 70, 4),  # the documented example
        (0, 10, 70, 0),
        (0.001, 10, 70, 1),
        (7, 10, 70, 1),
        (7.0001, 10, 70, 2),
        (14, 10, 70, 2),
        (1, 1, 70, 2),  # the defaults: one request at once is above 70 % of one
        (0.7, 1, 70, 1),
        (96, 96, 25, 4),  # encoders' starting point
        (256, 256, 50, 2),
        (100, 1, 100, 100),
    ],
)
def test_requests_in_flight_need_so_many_replicas(in_flight, target, utilization, replicas):
    settings = ScalingSettings(
        concurrency_target=target, target_utilization_percentage=utilization, max_replica=1000
    )
    assert replicas_for(Load(requests=in_flight), settings) == replicas


@pytest.mark.parametrize(
    ("tokens", "target", "replicas"),
    [(0, 50_000, 0), (50_000, 50_000, 1), (50_001, 50_000, 2), (460_000, 150_000, 4)],
)
def test_tokens_in_flight_decide_alone_where_they_are_the_target(tokens, target, replicas):
    settings = ScalingSettings(target_in_flight_tokens=target, max_replica=1000)
    assert replicas_for(Load(requests=500, tokens=tokens), settings) == replicas


def test_what_nobody_set_is_as_documented():
    assert ScalingSettings().to_json() == {
        "min_replica": 0,
        "max_replica": 1,
        "autoscaling_window": 60,
        "scale_down_delay": 900,
        "concurrency_target": 1,
        "target_utilization_percentage": 70,
        "target_in_flight_tokens": None,
        "max_scale_down_rate": 50,
    }
    assert LIMITS["autoscaling_window"] == (10, 3600)
    assert LIMITS["scale_down_delay"] == (0, 3600)
    assert LIMITS["max_scale_down_rate"] == (1, 50)


def test_tokens_as_the_target_have_other_defaults():
    settings = ScalingSettings.of({"target_in_flight_tokens": 100_000, "scale_down_delay": 60})
    assert (settings.min_replica, settings.autoscaling_window) == (1, 300)
    assert settings.scale_down_delay == 60, "what a person set stays"


@pytest.mark.parametrize(
    ("told", "names"),
    [
        ({"min_replica": 3, "max_replica": 2}, ["min_replica,max_replica"]),
        ({"target_in_flight_tokens": 5, "concurrency_target": 4}, ["concurrency_target"]),
        ({"target_in_flight_tokens": 5, "min_replica": 0}, ["min_replica"]),
        ({"target_in_flight_tokens": 5}, []),
        ({"concurrency_target": 4}, []),
    ],
)
def test_settings_that_contradict_each_other_are_named(told, names):
    assert [each[0] for each in problems_of(told, ScalingSettings.of(told))] == names
