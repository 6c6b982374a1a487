"""Series over REST: JSON, CSV, and only of one's own team."""

import csv
import io
from typing import Any

import pytest
from django.test import Client

from apps.telemetry.series.cells import Cells
from apps.telemetry.series.names import Source
from apps.telemetry.series.services import Batch, batches_add, series_fold
from controlplane import clock
from tests.factories import make_api_key, make_deployment, make_team

pytestmark = pytest.mark.django_db


@pytest.fixture
def team() -> Any:
    return make_team()


def keep(team: Any, **labels: str) -> None:
    """Count three requests of the team a minute ago, two of them answered."""
    cells = Cells()
    for status in ("2xx", "2xx", "5xx"):
        named = {"team_id": team.id, "status_class": status, **labels}
        cell = cells.at(Source.GATEWAY, clock.now().timestamp() - 60, named)
        cell.count("requests", 1)
        cell.observe("end_to_end_seconds", 2.0)
    batches_add([Batch(source=f"test {team.id}", sequence=1, cells=cells)])
    series_fold()


def ask(client: Client, team: Any, path: str, **query: Any) -> Any:
    headers = {"authorization": f"Bearer {make_api_key(team=team)}"}
    return client.get(f"/v1/{path}", query, headers=headers)


def test_a_query_answers_json_and_csv_with_gaps(client: Client, team: Any) -> None:
    keep(team)
    request = {"series": "end_to_end_seconds", "group_by": "status_class", "status_class": "2xx"}
    body = ask(client, team, "metrics/query", **request).json()
    (line,) = body["lines"]
    assert line["labels"] == {"status_class": "2xx"}
    assert (len(body["times"]), body["step_seconds"], body["series"]["unit"]) in {
        (360, 10, "seconds"), (361, 10, "seconds")
    }  # fmt: skip
    counts = [each for each in line["values"]["count"] if each is not None]
    assert counts == [2]
    text = ask(client, team, "metrics/query.csv", **request).content.decode()
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [row["count"] for row in rows if row["count"]] == ["2.0"]
    assert {row["status_class"] for row in rows} == {"2xx"}


def test_a_stranger_sees_nothing(client: Client, team: Any) -> None:
    stranger, deployment = make_team(), make_deployment(team=team)
    keep(team, model_id=deployment.model_id, deployment_id=deployment.id)
    body = ask(client, stranger, "metrics/query", series="requests",
               deployment_id=deployment.id).json()  # fmt: skip
    assert {each for line in body["lines"] for each in line["values"]["sum"]} == {None}
    path = f"models/{deployment.model_id}/deployments/{deployment.id}/metrics"
    assert ask(client, stranger, path).status_code == 404
    assert ask(client, stranger, f"teams/{team.id}/metrics/query",
               series="requests").status_code == 404  # fmt: skip


@pytest.mark.parametrize(
    ("query", "field"),
    [({"series": "requsts"}, "series"), ({"series": "requests", "step": 3}, "step"),
     ({"series": "requests", "label": "x"}, "label"), ({}, "series"),
     ({"series": "requests", "end": "0001-01-01T00:00:00Z"}, "end")],
)  # fmt: skip
def test_what_is_wrong_is_named(
    client: Client, team: Any, query: dict[str, Any], field: str
) -> None:
    answer = ask(client, team, "metrics/query", **query)
    assert (answer.status_code, answer.json()["fields"]) == (400, [field])


def test_every_series_is_in_the_catalogue_with_unit_source_and_labels(
    client: Client, team: Any
) -> None:
    by_name = {each["name"]: each for each in ask(client, team, "metrics/series").json()["series"]}
    assert by_name["kv_cache_used_ratio"]["statistics"] == ["mean", "max"]
    assert by_name["cost"]["measured_by"] == "control_plane"
