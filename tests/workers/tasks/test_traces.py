"""A build's attempt is one trace: its steps lie below it, and its log lines name it."""

import pytest

from apps.builds.leasing import BUILD
from apps.leases.lease import Lease
from controlplane.traces.spans import Span
from tests.manual_clock import ManualClock
from workers.tasks.building import traces
from workers.tasks.building.traces import attempt_span, build_trace_id, step_span


class Kept(list[Span]):
    def add(self, *spans: Span) -> None:
        self.extend(spans)


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> Kept:
    kept = Kept()
    monkeypatch.setattr(traces, "_spans", lambda: kept)
    return kept


LEASE = Lease(kind=BUILD, id="b7k2mzqp", token=3, secret="")


def test_steps_lie_below_their_attempt_and_say_how_long_they_took(kept: Kept) -> None:
    clock = ManualClock()
    with pytest.raises(RuntimeError):
        _two_steps(clock)
    fetch, inspect, whole = kept
    assert {each.trace_id for each in kept} == {build_trace_id(LEASE)}
    assert (fetch.parent_id, inspect.parent_id, whole.parent_id) == (*[whole.span_id] * 2, None)
    assert fetch.ended_at - fetch.began_at == 30
    assert (fetch.error, inspect.error, whole.error) == ("", "RuntimeError", "RuntimeError")
    assert fetch.attributes == {"enginehouse.build_id": "b7k2mzqp", "enginehouse.step": "fetch"}


def _two_steps(clock: ManualClock) -> None:
    with attempt_span(LEASE, clock=clock):
        with step_span(LEASE, "fetch", clock=clock):
            clock.advance(30)
        with step_span(LEASE, "inspect", clock=clock):
            raise RuntimeError


def test_another_attempt_is_another_trace() -> None:
    again = Lease(kind=BUILD, id=LEASE.id, token=4, secret="")
    assert build_trace_id(again) != build_trace_id(LEASE)


def test_without_a_collector_nothing_is_kept() -> None:
    assert traces._spans() is None
