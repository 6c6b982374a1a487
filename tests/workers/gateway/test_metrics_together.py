"""Whichever process of a group is asked for metrics tells of all, and no sum ever falls."""

from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.manual_clock import ManualClock
from workers.gateway.metrics import Metrics
from workers.gateway.metrics_together import MetricsTogether


class Process:
    """One of a group, with what it counts."""

    def __init__(self, folder: Path, number: int, clock: ManualClock) -> None:
        self.metrics = Metrics()
        self.together = MetricsTogether(folder, number, self.metrics, clock=clock)
        self.together.begin(lambda id: id != "gone")

    def answers(self, times: int, deployment: str = "d") -> None:
        for _ in range(times):
            self.metrics.of("m", deployment).finished(200, b"id", duration=0.3, first_byte=0.1)

    def page(self) -> dict[tuple[str, str], float]:
        """Return the samples by name and what tells them apart."""
        text = self.together.metrics().exposition(lambda _: True).decode()
        return {
            (sample.name, told_apart(sample.labels)): sample.value
            for family in text_string_to_metric_families(text)
            for sample in family.samples
        }


def told_apart(labels: dict[str, str]) -> str:
    names = ("process", "status_class", "status", "reason", "le")
    return next((labels[name] for name in names if name in labels), "")


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def pair(tmp_path: Path, clock: ManualClock) -> tuple[Process, Process]:
    return Process(tmp_path, 1, clock), Process(tmp_path, 2, clock)


def test_either_tells_of_both(pair: tuple[Process, Process]) -> None:
    for process, times in zip(pair, (2, 3), strict=True):
        process.answers(times)
        counts = process.metrics.of("m", "d")
        counts.upstream_failed("reset")
        counts.chosen("only")
        counts.in_flight, counts.waiting = times, 1
        process.metrics.refuse(401)
        process.metrics.client_connections = process.metrics.snapshot_version = times
        process.together.keep()
    one, other = (process.page() for process in pair)
    assert one == other
    assert one["gateway_requests_total", "2xx"] == 5
    assert one["gateway_requests_in_flight", ""] == 5
    assert one["gateway_requests_waiting", ""] == 2
    assert one["gateway_request_duration_seconds_count", ""] == 5
    assert one["gateway_request_duration_seconds_sum", ""] == pytest.approx(1.5)
    assert one["gateway_time_to_first_byte_seconds_bucket", "0.1"] == 5
    assert one["gateway_upstream_errors_total", "reset"] == 2
    assert one["gateway_replica_choices_total", "only"] == 2
    assert one["gateway_requests_refused_total", "401"] == 2
    assert one["gateway_client_connections", ""] == 5
    assert one["gateway_snapshot_version", "1"] == 2
    assert one["gateway_snapshot_version", "2"] == 3


def test_one_that_ended_leaves_its_counts_and_nothing_that_runs(
    pair: tuple[Process, Process], clock: ManualClock
) -> None:
    request, ended = pair
    ended.answers(3)
    ended.metrics.of("m", "d").in_flight = 7
    ended.together.keep()
    clock.advance(60)
    request.answers(1)
    page = request.page()
    assert page["gateway_requests_total", "2xx"] == 4
    assert page["gateway_requests_in_flight", ""] == 0
    assert ("gateway_snapshot_version", "2") not in page


def test_one_that_is_started_anew_goes_on_counting_for_what_is_still_served(
    pair: tuple[Process, Process], tmp_path: Path, clock: ManualClock
) -> None:
    request, ended = pair
    ended.answers(3)
    ended.answers(1, "gone")
    ended.metrics.of("m", "d").in_flight = 7
    ended.together.keep()
    anew = Process(tmp_path, 2, clock)
    anew.answers(1)
    anew.together.keep()
    page = request.page()
    assert page["gateway_requests_total", "2xx"] == 4
    assert page["gateway_requests_in_flight", ""] == 0
    assert [id for _, id in anew.metrics.deployments] == ["d"]


@pytest.mark.parametrize(
    "said", [b"", b"[1]", b'{"at":1}', b'{"at":1,"refused":1,"deployments":3}', b"\xff"]
)
def test_a_file_without_sense_counts_nothing(
    pair: tuple[Process, Process], tmp_path: Path, said: bytes
) -> None:
    request, _ = pair
    request.answers(2)
    (tmp_path / "2.json").write_bytes(said)
    assert request.page()["gateway_requests_total", "2xx"] == 2
