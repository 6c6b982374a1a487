"""What several gateways say, summed over a window, and who said nothing."""

from datetime import timedelta

import pytest

from apps.deployments.autoscaling.models import GatewayLoad
from apps.deployments.autoscaling.signal import load_add, loads_over, loads_prune, signals_at
from apps.fleet.models import Gateway
from controlplane import clock
from tests.factories_serving import make_gateway
from tests.manual_clock import ManualClock

pytestmark = pytest.mark.django_db


@pytest.fixture
def time() -> ManualClock:
    return ManualClock(clock.now())


def _report(time: ManualClock, gateway: Gateway, requests: float = 0.0, **more: float) -> None:
    loads = {"a": {"requests": requests, "tokens": 0, "held": 0, **more}} if requests else {}
    sequence = int(time.now().timestamp() * 1000)
    load_add(gateway=gateway, sequence=sequence, seconds=5, loads=loads, clock=time)


def test_gateways_sum_and_each_is_averaged_over_what_it_reported(time: ManualClock) -> None:
    old, young = make_gateway(name="old"), make_gateway(name="young")
    for requests in (0, 0, 12, 12):
        time.advance(5)
        _report(time, old, requests)
    _report(time, young, 3, tokens=100)
    load = loads_over(60, time.now())["a"]
    assert (load.requests, load.tokens) == (6 + 3, 100)


def test_what_is_older_than_the_window_counts_no_more(time: ManualClock) -> None:
    gateway = make_gateway()
    _report(time, gateway, 40)
    time.advance(61)
    _report(time, gateway, 1)
    assert loads_over(60, time.now())["a"].requests == 1
    assert loads_over(300, time.now())["a"].requests == 20.5


def test_a_gateway_that_ended_has_nothing_in_flight_since(time: ManualClock) -> None:
    gateway = make_gateway()
    _report(time, gateway, 12)
    time.advance(30)
    assert loads_over(60, time.now())["a"].requests == 1


def test_a_report_that_comes_twice_counts_once(time: ManualClock) -> None:
    gateway = make_gateway()
    for _ in range(2):
        load_add(gateway=gateway, sequence=7, seconds=5, loads={}, clock=time)
    assert GatewayLoad.objects.count() == 1


def test_who_said_nothing_is_named(time: ManualClock) -> None:
    assert signals_at(time.now(), windows=()).missing == "No gateway has been heard"
    speaks, silent = make_gateway(name="speaks"), make_gateway(name="silent")
    _report(time, speaks)
    missing = signals_at(time.now(), windows=()).missing
    assert missing == "Gateway `silent` has not said for 15 s what is in flight"
    Gateway.objects.filter(id=silent.id).update(last_seen_at=time.now() - timedelta(minutes=6))
    assert signals_at(time.now(), windows=()).missing == "", "it has ended"
    time.advance(16)
    assert "`speaks`" in signals_at(time.now(), windows=()).missing


def test_requests_that_wait_are_those_of_each_gateways_last_report(time: ManualClock) -> None:
    gateways = make_gateway(name="one"), make_gateway(name="two")
    _report(time, gateways[0], 1, held=9)
    time.advance(5)
    for gateway in gateways:
        _report(time, gateway, 1, held=2)
    signals = signals_at(time.now(), windows=(60,))
    assert signals.of("a", window_seconds=60).held == 4
    assert signals.of("b", window_seconds=60).held == 0


def test_reports_are_kept_as_long_as_the_longest_window(time: ManualClock) -> None:
    gateway = make_gateway()
    _report(time, gateway, 1)
    time.advance(3600)
    assert loads_prune(clock=time) == 0
    time.advance(61)
    assert loads_prune(clock=time) == 1
