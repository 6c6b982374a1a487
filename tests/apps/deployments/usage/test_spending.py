"""Usage and money: by day and by key, team or model, and every way adds up to the same."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from apps.accounts.models import ApiKey, AuditEntry
from apps.accounts.routes_version import routes_version_current
from apps.deployments.usage.device_time import device_time_record
from apps.deployments.usage.spend_limits import spend_limits_apply
from apps.deployments.usage.spending import Grouping, usage_lines
from apps.fleet.models import DeviceLease, DevicePrice
from apps.routes.snapshot import routes_snapshot
from apps.telemetry.models import DeviceHour, UsageMinute
from tests.apps.pages import signed_in
from tests.apps.rest_client import client_of
from tests.factories import (
    Cast,
    make_api_key,
    make_deployment,
    make_device,
    make_lease,
    make_model,
    make_replica,
)
from tests.folded import folded

pytestmark = pytest.mark.django_db
HOUR = datetime(2026, 3, 31, 22, tzinfo=UTC)
DAYS = {"since": HOUR.date(), "until": HOUR.date() + timedelta(days=1)}


def _key(cast: Cast, **changes: Any) -> ApiKey:
    text = make_api_key(team=cast.team, type="WORKSPACE_INVOKE", **changes)
    return ApiKey.objects.get(prefix=text.partition(".")[0])


def _used(deployment: Any, key: ApiKey, *, tokens: int, at: datetime = HOUR) -> None:
    UsageMinute.objects.create(
        minute=at,
        model_id=deployment.model_id,
        deployment_id=deployment.id,
        key_id=key.id,
        status_class=2,
        requests=1,
        prompt_tokens=tokens,
    )


def _held(deployment: Any, *, seconds: float, at: datetime = HOUR) -> None:
    DeviceHour.objects.create(
        hour=at,
        deployment_id=deployment.id,
        model_id=deployment.model_id,
        team_id=deployment.model.team_id,
        kind="H100",
        seconds=seconds,
    )


def _price(amount: str, since: datetime) -> None:
    DevicePrice.objects.create(kind="H100", per_hour=Decimal(amount), since=since)


def test_an_hour_is_shared_by_tokens_and_all_groupings_add_up(cast: Cast) -> None:
    deployment = make_deployment(model=make_model(team=cast.team))
    first, second, third = (_key(cast) for _ in range(3))
    _price("3", HOUR - timedelta(days=9))
    _price("5", HOUR + timedelta(hours=2))
    for key, tokens in ((first, 100), (second, 100), (third, 100)):
        _used(deployment, key, tokens=tokens)
    _held(deployment, seconds=7200)
    _held(deployment, seconds=1800, at=HOUR + timedelta(hours=1))
    _held(deployment, seconds=3600, at=HOUR + timedelta(hours=2))
    every = {grouping: usage_lines(group_by=grouping, **DAYS) for grouping in Grouping}
    totals = {sum(line.money for line in lines) for lines in every.values()}
    assert totals == {Decimal("12.5")}
    assert {sum(line.prompt_tokens for line in lines) for lines in every.values()} == {300}
    by_key = {(line.day.day, line.id): round(line.money, 6) for line in every[Grouping.KEY]}
    assert by_key == {
        (31, first.id): Decimal(2),
        (31, second.id): Decimal(2),
        (31, third.id): Decimal(2),
        (31, ""): Decimal("1.5"),
        (1, ""): Decimal(5),
    }


def test_claims_become_hours_once_however_often_they_are_added_up(cast: Cast) -> None:
    now = HOUR + timedelta(minutes=30)
    replica = make_replica(deployment=make_deployment(model=make_model(team=cast.team)))
    lease = make_lease(device=make_device(kind="H100"), holder=replica.device_holder)
    DeviceLease.objects.filter(id=lease.id).update(claimed_at=now - timedelta(hours=1))
    for _ in range(2):
        device_time_record(now=now)
    rows = DeviceHour.objects.order_by("hour").values_list("seconds", "kind", "team_id")
    assert list(rows) == [(1800.0, "H100", cast.team.id)] * 2


def test_a_key_that_spent_its_money_is_stopped_until_the_month_ends(cast: Cast) -> None:
    deployment = make_deployment(model=make_model(team=cast.team))
    key, other = _key(cast, monthly_spend=Decimal(3)), _key(cast, monthly_spend=Decimal(4))
    _price("3", HOUR)
    _used(deployment, key, tokens=1)
    _held(deployment, seconds=3600)
    version = routes_version_current()
    assert spend_limits_apply(now=HOUR + timedelta(minutes=59)) == 1
    key.refresh_from_db()
    other.refresh_from_db()
    assert (key.spent_until, other.spent_until) == (datetime(2026, 4, 1, tzinfo=UTC), None)
    assert routes_version_current() == version + 1
    assert spend_limits_apply(now=datetime(2026, 4, 1, 1, tzinfo=UTC)) == 1
    key.refresh_from_db()
    assert key.spent_until is None


def test_of_a_key_near_its_limit_gateways_learn_what_is_left_beside_the_open_hours(
    cast: Cast,
) -> None:
    deployment = make_deployment(model=make_model(team=cast.team))
    near, far = _key(cast, monthly_spend=Decimal(2)), _key(cast, monthly_spend=Decimal(500))
    unlimited = _key(cast)
    _price("3", HOUR - timedelta(hours=5))
    _used(deployment, near, tokens=1)
    _used(deployment, unlimited, tokens=2)
    _held(deployment, seconds=1800)
    later, now = HOUR + timedelta(hours=1), HOUR + timedelta(hours=1, minutes=10)
    DeviceHour.objects.create(
        hour=later, deployment_id=deployment.id, model_id=deployment.model_id,
        team_id=cast.team.id, kind="H100", seconds=600,
    )  # fmt: skip
    UsageMinute.objects.update(minute=HOUR + timedelta(minutes=59))
    spend_limits_apply(now=now)
    by_id = {row["id"]: row["limits"].get("spend") for row in routes_snapshot()["keys"].values()}
    assert by_id[unlimited.id] is None
    assert by_id[far.id] == {}
    first, second = by_id[near.id]["hours"]
    assert (by_id[near.id]["left"], by_id[near.id]["measured_at"]) == (2.0, now.timestamp())
    assert (first["hour"], first["deployment_id"]) == (int(HOUR.timestamp()), deployment.id)
    assert (first["money"], first["tokens"], first["key_tokens"]) == (1.5, 3, 1)
    assert first["key_money"] == pytest.approx(0.5)
    assert (second["money"], second["tokens"], second["key_money"]) == (0.5, 0, 0)
    version = routes_version_current()
    assert spend_limits_apply(now=now) == 0
    assert routes_version_current() == version, "what did not change is told to nobody"


def test_only_an_organisation_admin_sets_prices_and_the_trail_tells(cast: Cast) -> None:
    body = {"kind": "H100", "per_hour": "2.5"}
    assert client_of(cast.owner).post("/v1/prices", body)[0] == 403
    status, price = client_of(cast.organisation_admin).post("/v1/prices", body)
    assert (status, price["per_hour"]) == (200, "2.5000")
    assert AuditEntry.objects.get(action="price.set").after == {"per_hour": "2.5000"}
    form = {"kind": "H100", "per_hour": "0.1200"}
    page = signed_in(cast.organisation_admin).post("/usage/price/", form, follow=True)
    assert "An hour of <code>H100</code> costs 0.12 from now on." in page.content.decode()
    assert 'class="num">0.12</td>' in page.content.decode()
    assert AuditEntry.objects.filter(action="price.set").last().before == {"per_hour": "2.5000"}


def test_requests_on_extra_routes_are_told_apart_on_the_page_over_rest_and_as_csv(
    cast: Cast,
) -> None:
    deployment, key = make_deployment(team=cast.team), _key(cast)
    _used(deployment, key, tokens=10)
    query, page = f"from={HOUR.date()}&to={HOUR.date()}", signed_in(cast.owner)
    shown = f"/usage/?since={HOUR.date()}&until={HOUR.date()}"
    assert "On extra routes" not in folded(page.get(shown).content.decode())
    UsageMinute.objects.update(requests=7, extra_route_requests=5)
    assert '<td data-label="On extra routes" class="num">5</td>' in folded(
        page.get(shown).content.decode()
    )
    rest = client_of(cast.owner)
    line = rest.get(f"/v1/usage?{query}")[1]["usage"][0]
    assert (line["requests"], line["extra_route_requests"]) == (7, 5)
    head, first = rest.download(f"/v1/usage.csv?{query}")[1].decode().splitlines()
    assert (head.split(",")[-1], first.split(",")[-1]) == ("extra_route_requests", "5")


def test_a_team_sees_its_own_usage_on_the_page_over_rest_and_as_csv(cast: Cast) -> None:
    deployment = make_deployment(model=make_model(team=cast.team, name="answers"))
    _used(deployment, _key(cast), tokens=77)
    query = "group_by=model&from=2026-03-31&to=2026-04-01"
    owner, outsider = client_of(cast.owner), client_of(cast.outsider)
    assert (
        owner.download(f"/v1/usage.csv?{query}")[1]
        .splitlines()[1]
        .endswith(b",answers,1,77,0,0.000000,0")
    )
    assert owner.get(f"/v1/usage?{query}")[1]["usage"][0]["prompt_tokens"] == 77
    assert outsider.get(f"/v1/usage?{query}")[1]["usage"] == []
    address = "/usage/?group_by=model&since=2026-03-31&until=2026-04-01"
    assert b"answers" in signed_in(cast.owner).get(address).content
    assert b"answers" not in signed_in(cast.outsider).get(address).content


def test_a_year_and_more_is_refused(cast: Cast) -> None:
    query = {"from": "2024-01-01", "to": "2026-01-01"}
    assert client_of(cast.owner).get("/v1/usage", **query)[0] == 400


def test_money_in_the_file_has_the_digits_that_the_json_has(cast: Cast) -> None:
    deployment = make_deployment(team=cast.team)
    DevicePrice.objects.create(kind="CPU", per_hour=Decimal(0), since=HOUR - timedelta(days=1))
    _held(deployment, seconds=12.345)
    query = f"group_by=model&from={HOUR.date()}&to={HOUR.date()}"
    client = client_of(cast.owner)
    line = client.download(f"/v1/usage.csv?{query}")[1].decode().splitlines()[1]
    assert line.split(",")[6] == "0.000000"
    assert client.get(f"/v1/usage?{query}")[1]["usage"][0]["money"] == "0.000000"
