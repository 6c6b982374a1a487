"""The log of a deployment as its page asks for it: filtered, and as a file."""

from datetime import timedelta

import pytest

from apps.deployments.models import Replica
from apps.telemetry.logs import log_append
from apps.telemetry.models import LogChunk
from controlplane import clock
from tests.apps.pages import signed_in
from tests.factories import make_cast, make_deployment, make_replica

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("broker")]
LINES = "INFO begun (1)\nERROR out of memory (50%)\nplain\n"


def test_lines_are_filtered_by_words_as_they_are_level_replica_and_time_and_sent_as_a_file() -> (
    None
):
    cast = make_cast()
    deployment = make_deployment(team=cast.team)
    one, two = (make_replica(deployment=deployment) for _ in range(2))
    for replica in (one, two):
        log_append(owner=replica.log_owner, attempt=1, sequence=0, text=LINES)
    LogChunk.objects.filter(owner=two.log_owner).update(created_at=clock.now() - timedelta(hours=2))
    client, path = signed_in(cast.owner), f"/models/{deployment.model_id}/{deployment.id}/log/"

    def told(**asked: str) -> list[tuple[str, str]]:
        lines = client.get(path, asked, headers={"Accept": "application/json"}).json()["lines"]
        return [(line["step"], line["text"]) for line in lines]

    assert len(told()) == 6
    assert told(q="BEGUN (1)", part=one.id) == [(one.id, "INFO begun (1)")]
    assert told(level="ERROR", since="1h") == [(one.id, "ERROR out of memory (50%)")]
    assert told(q="50%", part=two.id) == [(two.id, "ERROR out of memory (50%)")]
    assert told(q="nowhere") == told(part="none") == []
    assert len(told(level="worst", since="ever")) == 6, "what is not known filters nothing"
    answer = client.get(f"{path}file/", {"level": "ERROR", "part": two.id})
    (line,) = b"".join(answer.streaming_content).decode().splitlines()
    assert line.endswith(f"Z {two.id} ERROR out of memory (50%)")
    assert answer["Content-Disposition"] == f'attachment; filename="{deployment.id}.log"'
    assert signed_in(cast.outsider).get(f"{path}file/").status_code == 404


def test_a_file_holds_every_line_of_every_replica_whatever_one_look_returns(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("apps.deployments.log_views.LINES_PER_LOOK", 2)
    monkeypatch.setattr("apps.deployments.log_views.REPLICAS_FOLLOWED", 1)
    cast = make_cast()
    deployment = make_deployment(team=cast.team)
    for replica in (make_replica(deployment=deployment) for _ in range(3)):
        log_append(owner=replica.log_owner, attempt=1, sequence=0, text=LINES)
    answer = signed_in(cast.owner).get(f"/models/{deployment.model_id}/{deployment.id}/log/file/")
    lines = b"".join(answer.streaming_content).decode().splitlines()
    assert len(lines) == 9
    assert {line.split()[1] for line in lines} == set(Replica.objects.values_list("id", flat=True))
