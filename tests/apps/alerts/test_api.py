"""Alerts over REST: a team's own and those that all share, never another team's."""

from datetime import timedelta

import pytest

from controlplane.clock import now
from tests.apps.rest_client import client_of
from tests.factories import make_cast
from tests.factories_alerts import make_alert

pytestmark = pytest.mark.django_db


def test_alerts_are_listed_newest_first_by_state_and_kind() -> None:
    cast = make_cast()
    old = make_alert(team=cast.team, resolved_at=now(), fired_at=now() - timedelta(hours=1))
    shared = make_alert(team=None, kind="node_silent")
    make_alert(team=cast.outsider.team)
    rest = client_of(cast.member)
    listed = rest.get("/v1/alerts")[1]["items"]
    assert [(each["id"], each["state"], each["of_installation"]) for each in listed] == [
        (shared.id, "firing", True), (old.id, "resolved", False),
    ]  # fmt: skip
    for query, found in (({"state": "firing"}, shared), ({"kind": "build_failed"}, old)):
        assert [each["id"] for each in rest.get("/v1/alerts", **query)[1]["items"]] == [found.id]
    assert rest.get(f"/v1/alerts/{old.id}")[1]["url"] == "/builds/4/"
    assert rest.get("/v1/alerts", kind="unknown")[0] == 400
