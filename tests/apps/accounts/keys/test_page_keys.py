"""The key behind a person's page: narrow, short-lived, and nowhere to be found."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from time_machine import TimeMachineFixture

from apps.accounts.hashing import sha256_hex
from apps.accounts.keys.page_keys import page_key_text
from apps.accounts.models import ApiKey, AuditEntry, TeamRole
from apps.accounts.people.members import member_add, member_remove
from apps.accounts.selectors import api_key_by_text
from apps.routes.snapshot import routes_snapshot
from tests.apps.pages import signed_in
from tests.apps.rest_client import RestClient
from tests.factories import Cast, make_cast

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("broker")]
MOMENT = datetime(2026, 11, 27, 12, 0, 30, tzinfo=UTC)


@pytest.fixture
def cast() -> Cast:
    return make_cast()


def test_the_key_calls_one_model_for_an_hour_and_nothing_else(
    cast: Cast, time_machine: TimeMachineFixture
) -> None:
    time_machine.move_to(MOMENT, tick=False)
    text = page_key_text(user=cast.member, team=cast.team, model_id="abcdefgh")
    known = routes_snapshot()["keys"][sha256_hex(text)]
    assert (known["scope"], known["model_ids"], known["team_id"]) == (
        "invoke", ["abcdefgh"], cast.team.id,
    )  # fmt: skip
    assert known["expires_at"] == MOMENT.timestamp() + 3600
    assert known["limits"]["requests_per_minute"] == 60
    assert known["limits"]["parallel_requests"] == 8
    status, _ = RestClient(text).get("/v1/models")
    assert status == 403


def test_one_key_serves_until_shortly_before_its_end_and_then_another_text(
    cast: Cast, time_machine: TimeMachineFixture
) -> None:
    time_machine.move_to(MOMENT, tick=False)
    first = page_key_text(user=cast.member, team=cast.team, model_id="abcdefgh")
    time_machine.shift(timedelta(minutes=54))
    assert page_key_text(user=cast.member, team=cast.team, model_id="abcdefgh") == first
    time_machine.shift(timedelta(minutes=2))
    second = page_key_text(user=cast.member, team=cast.team, model_id="abcdefgh")
    assert second != first
    assert (api_key_by_text(first), ApiKey.objects.count()) == (None, 1)
    assert list(AuditEntry.objects.order_by("id").values_list("action", flat=True)) == [
        "key.create", "key.renew",
    ]  # fmt: skip


def test_two_people_and_two_models_have_keys_of_their_own(cast: Cast) -> None:
    texts = {
        page_key_text(user=person, team=cast.team, model_id=model_id)
        for person in (cast.owner, cast.member)
        for model_id in ("abcdefgh", "ijklmnop")
    }
    assert len(texts) == 4


def test_another_secret_key_of_the_server_makes_another_key(cast: Cast, settings: Any) -> None:
    first = page_key_text(user=cast.member, team=cast.team, model_id="abcdefgh")
    settings.SECRET_KEY = "another-secret-key-of-more-than-32-characters"
    second = page_key_text(user=cast.member, team=cast.team, model_id="abcdefgh")
    assert second != first
    assert sha256_hex(second) in routes_snapshot()["keys"]


def test_no_table_holds_its_text(cast: Cast) -> None:
    text = page_key_text(user=cast.member, team=cast.team, model_id="abcdefgh")
    secret = text.partition(".")[2]
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            cursor.execute(
                f"SELECT count(*) FROM {table} AS t WHERE t::text LIKE %s", [f"%{secret}%"]
            )
            assert cursor.fetchone() == (0,), table


def test_it_ends_with_the_sign_out_and_with_leaving_the_team(cast: Cast) -> None:
    text = page_key_text(user=cast.member, team=cast.team, model_id="abcdefgh")
    browser = signed_in(cast.member)
    browser.post("/sign-out/")
    assert sha256_hex(text) not in routes_snapshot()["keys"]
    again = page_key_text(user=cast.member, team=cast.team, model_id="abcdefgh")
    member_add(team=cast.outsider.team, user=cast.member, role=TeamRole.MEMBER)
    member_remove(team=cast.team, user=cast.member)
    assert sha256_hex(again) not in routes_snapshot()["keys"]


def test_the_page_of_keys_shows_it_to_its_person_and_to_admins_while_it_lasts(
    cast: Cast, time_machine: TimeMachineFixture
) -> None:
    time_machine.move_to(MOMENT, tick=False)
    page_key_text(user=cast.member, team=cast.team, model_id="abcdefgh")
    says = f"try a model as {cast.member.email}"
    assert says in signed_in(cast.member).get("/keys/").content.decode()
    assert says in signed_in(cast.owner).get("/keys/").content.decode()
    page_key_text(user=cast.owner, team=cast.team, model_id="abcdefgh")
    assert cast.owner.email not in _keys_shown(cast)
    time_machine.shift(timedelta(hours=1))
    assert says not in signed_in(cast.member).get("/keys/").content.decode()


def _keys_shown(cast: Cast) -> str:
    page = signed_in(cast.member).get("/keys/").content.decode()
    return page.partition("<table")[2].partition("</table>")[0]
