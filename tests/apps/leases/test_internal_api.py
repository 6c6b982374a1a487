"""Secrets go to the holder of a live lease, and to nobody else."""

from pathlib import Path
from typing import Any

import pytest
from django.db import OperationalError
from django.test import Client
from pytest_django import Settings

from apps.accounts.key_ring import key_ring_ensure
from apps.leases.services import lease_end, leases_expire
from apps.secrets.services.values import secret_set
from controlplane.domain.lifecycle import BuildState
from tests import factories
from tests.apps.leases.work import Work

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("broker")]


@pytest.fixture
def build(settings: Settings, tmp_path: Path) -> Work:
    settings.KEY_RING_FILE = tmp_path / "keys" / "secrets.keyring"
    team = factories.make_team()
    for name in ("hf_access_token", "other"):
        secret_set(team=team, name=name, value=f"value of {name}")
    spec = factories.spec_json() | {"secrets": {"hf_access_token": None, "gone": None}}
    work = Work("build")
    work.update(team=team, revision=factories.make_revision(team=team, spec=spec))
    work.row.refresh_from_db()
    return work


def redeem(kind: str, id: str, **body: Any) -> Any:
    path = f"/internal/v1/leases/{kind}/{id}/secrets"
    return Client().post(path, body, content_type="application/json")


def test_the_live_lease_gets_exactly_the_names_of_the_spec(build: Work) -> None:
    lease = build.claim()
    answer = redeem("build", build.id, token=lease.token, lease_secret=lease.secret)
    assert answer.json() == {"secrets": {"hf_access_token": "value of hf_access_token"}}
    assert answer["Cache-Control"] == "no-store"


@pytest.mark.parametrize(
    ("ring", "words", "hint"),
    [
        ("another", "The key ring has no key", "Store its value anew"),
        ("none", "There is no key ring", "Only web hosts hold it"),
    ],
)
def test_a_secret_that_does_not_open_is_refused_by_name(
    build: Work, settings: Settings, ring: str, words: str, hint: str
) -> None:
    settings.KEY_RING_FILE.unlink()
    if ring == "another":
        key_ring_ensure(settings.KEY_RING_FILE)
    lease = build.claim()
    answer = redeem("build", build.id, token=lease.token, lease_secret=lease.secret)
    content = answer.json()
    assert (answer.status_code, content["fields"]) == (409, ["secrets.hf_access_token"])
    assert content["message"].startswith(f"The secret `hf_access_token` does not open. {words}")
    assert content["hint"].startswith(hint)


def test_a_fault_of_the_database_is_no_refusal(
    build: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(**_named: object) -> None:
        raise OperationalError("the connection is lost")

    monkeypatch.setattr("apps.configs.revision_secrets.secrets_reveal", away)
    lease = build.claim()
    path = f"/internal/v1/leases/build/{build.id}/secrets"
    body = {"token": lease.token, "lease_secret": lease.secret}
    client = Client(raise_request_exception=False)
    answer = client.post(path, body, content_type="application/json")
    assert answer.status_code >= 500


def test_anything_but_the_live_lease_gets_nothing(work: Work) -> None:
    lease = work.claim()

    def ask(**changes: Any) -> int:
        values = {"kind": work.kind.name, "id": work.id, "token": lease.token}
        request = values | {"lease_secret": lease.secret} | changes
        return int(redeem(**request).status_code)

    assert ask(lease_secret="guess") == 403
    assert ask(token=lease.token + 1) == 403
    assert ask(kind="replica") == 403
    assert ask(id="zzzzzzzz") == 403
    assert ask(token="x") == 400
    work.expire()
    assert ask() == 403


@pytest.mark.parametrize("end", ["by itself", "with its worker"])
def test_work_that_has_no_holder_any_more_redeems_nothing(build: Work, end: str) -> None:
    lease = build.claim()
    if end == "by itself":
        lease_end(lease=lease, state=BuildState.FAILED)
    else:
        leases_expire(owners=["worker"])
    answer = redeem("build", build.id, token=lease.token, lease_secret=lease.secret)
    assert (answer.status_code, answer.json()["code"]) == (403, "lease_not_live")
