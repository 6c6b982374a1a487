"""The audit trail: who changed what from where; nobody can change it."""

import json

import pytest
from django.core.management import call_command
from django.db import DatabaseError, connection, transaction
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from apps.accounts.audit.recording import audit
from apps.accounts.models import AuditEntry
from tests.apps.pages import signed_in
from tests.apps.rest_client import client_of
from tests.factories import Cast, make_cast, make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def cast() -> Cast:
    return make_cast()


def _last() -> AuditEntry:
    return AuditEntry.objects.order_by("-id")[0]


def test_a_replaced_secret_is_told_without_its_value(cast: Cast) -> None:
    client = client_of(cast.member)
    for value in ("first-value", "second-value"):
        client.post("/v1/secrets", {"name": "hub", "value": value})
    entry = _last()
    assert (entry.action, entry.target_label) == ("secret.replace", "hub")
    assert (entry.source, entry.address) == ("rest", "127.0.0.1")
    assert entry.actor_kind == "key"
    assert entry.actor_label.endswith("of member@example.com")
    with connection.cursor() as cursor:
        cursor.execute("SELECT row_to_json(a)::text FROM accounts_auditentry a")
        assert not any("-value" in row for (row,) in cursor.fetchall())


@pytest.mark.parametrize("attempt", ["update", "delete"])
def test_the_database_refuses_to_change_an_entry(cast: Cast, attempt: str) -> None:
    client_of(cast.organisation_admin).patch(f"/v1/teams/{cast.team.id}", {"name": "renamed"})
    entries = AuditEntry.objects.all()
    with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
        entries.update(action="nothing") if attempt == "update" else entries.delete()


def test_the_database_refuses_to_empty_the_trail(cast: Cast) -> None:
    client_of(cast.organisation_admin).patch(f"/v1/teams/{cast.team.id}", {"name": "renamed"})
    with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
        connection.cursor().execute("TRUNCATE accounts_auditentry")
    assert AuditEntry.objects.exists()


def test_a_refused_change_leaves_nothing(cast: Cast) -> None:
    status, _ = client_of(cast.owner).delete("/v1/secrets/nowhere")
    assert status == 404
    assert not AuditEntry.objects.exists()


def test_before_and_after_stand_beside_each_other(cast: Cast) -> None:
    signed_in(cast.owner).post(f"/people/{cast.member.id}/role/", {"role": "admin"})
    entry = _last()
    assert entry.action == "member.set_role"
    assert (entry.before, entry.after) == ({"role": "member"}, {"role": "admin"})
    assert (entry.source, entry.actor_label) == ("page", "owner@example.com")
    assert not entry.by_admin_rights


def test_what_an_admin_does_in_a_foreign_team_is_marked(cast: Cast) -> None:
    status, _ = client_of(cast.organisation_admin).post(
        f"/v1/teams/{cast.team.id}/secrets", {"name": "hub", "value": "x"}
    )
    assert status == 200
    entry = _last()
    assert entry.by_admin_rights
    assert entry.team_id == cast.team.id


def test_a_look_into_a_foreign_team_is_told(cast: Cast) -> None:
    path = f"/v1/teams/{cast.team.id}/members"
    assert client_of(cast.organisation_admin).get(path)[0] == 200
    entry = _last()
    assert (entry.action, entry.by_admin_rights) == ("team.read", True)
    client_of(cast.owner).get(path)
    assert _last() == entry


def test_sign_ins_and_failed_ones_are_told(cast: Cast) -> None:
    make_user(team=cast.team, email="ada@example.com", password="a long password")
    client = Client()
    for email, password in (
        ("ada@example.com", "wrong"),
        ("my-password", "wrong"),
        ("ada@example.com", "a long password"),
    ):
        client.post("/sign-in/", {"email": email, "password": password})
    entries = list(AuditEntry.objects.order_by("id").values_list("action", "target_label"))
    assert ("account.sign_in_failed", "ada@example.com") in entries
    assert entries[-1] == ("account.sign_in", "ada@example.com")
    assert not AuditEntry.objects.filter(target_label="my-password").exists()


def test_commands_are_told_by_their_name(cast: Cast) -> None:
    call_command("create_api_key", "ci", "--team", cast.team.name)
    entry = _last()
    assert (entry.action, entry.source) == ("key.create", "command")
    assert entry.actor_label == "manage.py create_api_key"


def test_team_admins_read_their_team_organisation_admins_all_and_members_nothing(
    cast: Cast,
) -> None:
    client_of(cast.owner).post("/v1/secrets", {"name": "ours", "value": "x"})
    client_of(cast.outsider).post("/v1/secrets", {"name": "theirs", "value": "x"})
    seen = {
        user.email: client_of(user).get("/v1/audit")
        for user in (cast.owner, cast.member, cast.outsider, cast.organisation_admin)
    }
    labels = {
        email: [item["target_label"] for item in body["items"]]
        for email, (status, body) in seen.items()
        if status == 200
    }
    assert labels == {
        "owner@example.com": ["ours"],
        "outsider@example.com": ["theirs"],
        "admin@example.com": ["theirs", "ours"],
    }
    assert seen["member@example.com"][0] == 403
    assert signed_in(cast.member).get("/audit/").status_code == 403


def test_the_trail_is_filtered_paged_and_exported(cast: Cast) -> None:
    client = client_of(cast.owner)
    for name in ("one", "two", "three"):
        client.post("/v1/secrets", {"name": name, "value": "x"})
    client.delete("/v1/secrets/two")
    _, first = client.get("/v1/audit", action="secret.create", limit=2)
    _, rest = client.get(
        "/v1/audit", action="secret.create", limit=2, cursor=first["pagination"]["cursor"]
    )
    names = [item["target_label"] for item in first["items"] + rest["items"]]
    assert names == ["three", "two", "one"]
    assert client.get("/v1/audit", actor="nobody-like-this")[1]["items"] == []
    _, lines = client.download("/v1/audit/export?as=jsonl&target=two")
    assert [json.loads(line)["action"] for line in lines.splitlines()] == [
        "secret.delete",
        "secret.create",
    ]
    page = signed_in(cast.owner).get("/audit/", {"action": "secret.delete"})
    assert b"secret.delete" in page.content
    assert b"secret.create" not in page.content


def test_no_cell_of_the_csv_is_a_formula(cast: Cast) -> None:
    client_of(cast.organisation_admin).patch(f"/v1/teams/{cast.team.id}", {"name": "=1+1"})
    client_of(cast.owner).post("/v1/secrets", {"name": "hub", "value": "x"})
    answer = signed_in(cast.owner).get("/audit/export.csv")
    assert ",'=1+1," in answer.getvalue().decode()


def test_what_the_system_does_is_written_without_a_look_at_anybody_s_rights(
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    with django_assert_num_queries(1):
        entry = audit("node.sweep", "thing", team=None)
    assert (entry.actor_kind, entry.by_admin_rights) == ("system", False)
