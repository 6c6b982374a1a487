"""Alerts over REST: a team's own and those that all share, never another team's."""

from datetime import timedelta

import pytest

from controlplane.clock import now
from tests.apps.pages import signed_in
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
    for query, outcome in (({"state": "firing"}, shared), ({"kind": "build_failed"}, old)):
        assert [each["id"] for each in rest.get("/v1/alerts", **query)[1]["items"]] == [outcome.id]
    assert rest.get(f"/v1/alerts/{old.id}")[1]["url"] == "/builds/4/"
    assert rest.get("/v1/alerts", kind="unknown")[0] == 400


def test_a_budget_is_set_over_rest_and_on_the_page_and_taken_away_again() -> None:
    cast = make_cast()
    rest, page = client_of(cast.owner), signed_in(cast.owner)
    status, limits = rest.patch("/v1/alert_limits", {"monthly_budget": 1500})
    assert (status, limits["monthly_budget"]) == (200, "1500.00")
    assert 'value="1500.00"' in page.get("/alerts/").content.decode()
    assert rest.patch("/v1/alert_limits", {"monthly_budget": -1})[0] == 400
    page.post("/alerts/limits/", {"error_share_percent": "5", "monthly_budget": ""})
    assert rest.get("/v1/alert_limits")[1]["monthly_budget"] is None
