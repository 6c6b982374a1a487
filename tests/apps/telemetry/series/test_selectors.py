"""What a query answers: steps, lines, percentiles across buckets, gaps, and nobody else's."""

import random
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from apps.rest.errors import InvalidInput
from apps.telemetry.series.cells import Cells
from apps.telemetry.series.names import Source
from apps.telemetry.series.selectors import Answer, query
from apps.telemetry.series.services import Batch, batches_add, series_fold
from tests.manual_clock import ManualClock

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 11, 28, 12, 0, 0, tzinfo=UTC)
ASKED: dict[str, Any] = {"team_id": "t", "end": NOW, "now": NOW}


def keep(cells: Cells) -> None:
    batches_add([Batch(source="test", sequence=1, cells=cells)])
    series_fold(clock=ManualClock(NOW))


def request(cells: Cells, age: float, seconds: float = 1.0, **labels: str) -> None:
    named = {"team_id": "t", "model_id": "m", "deployment_id": "d", "status_class": "2xx",
             "key_id": "k", "replica_id": "r"}  # fmt: skip
    cell = cells.at(Source.GATEWAY, NOW.timestamp() - age, named | labels)
    cell.count("requests", 1)
    cell.observe("end_to_end_seconds", seconds)


def gateway_heard(cells: Cells, *ages: float) -> None:
    for age in ages:
        cells.at(Source.CONTROL_PLANE, NOW.timestamp() - age, {}).look("gateways_live", 1)


def ask(name: str, seconds: int, **more: Any) -> Answer:
    return query(name, start=NOW - timedelta(seconds=seconds), **ASKED | more)


def test_no_request_is_none_where_a_gateway_was_heard_and_a_gap_elsewhere() -> None:
    cells = Cells()
    request(cells, 35)
    request(cells, 31, status_class="5xx")
    gateway_heard(cells, 25, 5)
    keep(cells)
    answer = ask("requests", 50)
    assert (answer.step_seconds, answer.resolution_seconds) == (10, 10)
    (line,) = answer.lines
    assert line.values["sum"] == [None, 2, 0, None, 0]
    assert line.values["per_second"] == [None, 0.2, 0, None, 0]
    assert ask("requests", 50, filters={"deployment_id": ["none"]}).lines[0].values["sum"][4] == 0


def test_lines_are_grouped_and_filtered_by_labels() -> None:
    cells = Cells()
    request(cells, 5, key_id="a")
    request(cells, 5, key_id="b", status_class="5xx")
    request(cells, 5, key_id="b", deployment_id="e")
    request(cells, 5, team_id="stranger", key_id="a")
    keep(cells)
    by_key = ask("requests", 10, group_by=["key_id", "status_class"])
    assert {tuple(line.labels.values()): line.values["sum"][0] for line in by_key.lines} == {
        ("a", "2xx"): 1, ("b", "2xx"): 1, ("b", "5xx"): 1,
    }  # fmt: skip
    of_d = ask("requests", 10, filters={"deployment_id": ["d"], "status_class": ["2xx", "5xx"]})
    assert of_d.lines[0].values["sum"] == [2]
    assert ask("requests", 10, team_id="stranger").lines[0].values["sum"] == [1]
    assert ask("requests", 10, team_id="nobody").lines[0].values["sum"] == [None]
    assert ask("requests", 10, team_id="nobody", group_by=["key_id"]).lines == []


def test_percentiles_over_many_buckets_are_of_all_values() -> None:
    chance, cells = random.Random(5), Cells()
    values = [chance.lognormvariate(0, 1) for _ in range(600)]
    for place, value in enumerate(values):
        request(cells, place * 5 + 5, value, replica_id=chance.choice("rs"))
    keep(cells)
    line = ask("end_to_end_seconds", 3600, step_seconds=3600).lines[0]
    exact = sorted(values)
    for name, share in (("p50", 0.5), ("p90", 0.9), ("p99", 0.99)):
        assert line.values[name][-1] == pytest.approx(exact[int(share * 599)], rel=0.01)
    assert line.values["mean"][-1] == pytest.approx(sum(values) / 600)
    assert line.values["count"][-1] == 600
    assert None in ask("end_to_end_seconds", 7200, step_seconds=3600).lines[0].values["p50"]


def test_gauges_of_replicas_add_up_or_the_fullest_tells() -> None:
    cells = Cells()
    for replica, running, used in (("r", 2, 0.3), ("s", 4, 0.9)):
        labels = {"team_id": "t", "deployment_id": "d", "replica_id": replica}
        cell = cells.at(Source.ENGINE, NOW.timestamp() - 5, labels)
        cell.look("requests_running", running)
        cell.look("requests_running", running + 2)
        cell.look("kv_cache_used_ratio", used)
    keep(cells)
    assert ask("requests_running", 10).lines[0].values == {"mean": [8], "max": [10]}
    assert ask("kv_cache_used_ratio", 10).lines[0].values == {"mean": [0.9], "max": [0.9]}
    assert ask("requests_waiting", 10).lines[0].values == {"mean": [None], "max": [None]}


@pytest.mark.parametrize(
    ("seconds", "asked", "step", "resolution"),
    [
        (900, None, 10, 10),
        (3600, None, 10, 10),
        (86_400, None, 300, 60),
        (7 * 86_400, None, 3600, 3600),
        (30 * 86_400, None, 10_800, 3600),
        (365 * 86_400, None, 86_400, 86_400),
        (900, 25, 30, 10),
        (900, 86_400, 86_400, 86_400),
        (7 * 86_400, 60, 3600, 3600),
    ],
)
def test_steps_are_as_long_as_what_is_kept_and_read_fast(
    seconds: int, asked: int | None, step: int, resolution: int
) -> None:
    answer = ask("requests", seconds, step_seconds=asked)
    assert (answer.step_seconds, answer.resolution_seconds) == (step, resolution)
    assert seconds <= len(answer.times) * step < seconds + 2 * step


@pytest.mark.parametrize(
    ("name", "more", "words"),
    [
        ("requsts", {}, "no series `requsts`"),
        ("requests", {"group_by": ["key_id", "replica_id"]}, "not kept by `key_id`, `replica_id`"),
        ("requests", {"filters": {"device_id": ["x"]}}, "not kept by `device_id`"),
        ("requests", {"end": NOW - timedelta(days=2)}, "no time within"),
    ],
)
def test_what_cannot_be_answered_is_told(name: str, more: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        ask(name, 3600, **more)
