"""A build's secrets go to the holder of its live lease, and to nobody else."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from pytest_django import Settings

from apps.builds.models import Build
from apps.builds.services import Lease, build_claim, build_fail
from apps.configs.models import Revision
from apps.secrets.services import secret_set
from controlplane import clock
from controlplane.domain.failures import Blame, Failure
from tests import factories
from tests.factories import Cast

pytestmark = pytest.mark.django_db


@pytest.fixture
def build(revision: Revision, cast: Cast, settings: Settings, tmp_path: Path) -> Build:
    settings.KEY_RING_FILE = tmp_path / "keys" / "secrets.keyring"
    for name in ("hf_access_token", "other"):
        secret_set(team=cast.team, name=name, value=f"value of {name}")
    spec = revision.spec | {"secrets": {"hf_access_token": None, "gone": None}}
    named = factories.make_revision(config=revision.config, spec=spec)
    return factories.make_build(revision=named)


def claim(build: Build) -> Lease:
    lease = build_claim(build_id=build.id, owner="worker")
    assert lease is not None
    return lease


def redeem(build: Build, **body: Any) -> tuple[int, Any]:
    path = f"/internal/v1/builds/{build.id}/secrets"
    answer = Client().post(path, body, content_type="application/json")
    return answer.status_code, answer.json()


def test_the_live_lease_gets_exactly_the_names_of_the_spec(build: Build) -> None:
    lease = claim(build)
    status, answer = redeem(build, token=lease.token, lease_secret=lease.secret)
    assert status == 200
    assert answer == {"secrets": {"hf_access_token": "value of hf_access_token"}}


def test_anything_but_the_live_lease_gets_nothing(build: Build) -> None:
    lease = claim(build)
    assert redeem(build, token=lease.token, lease_secret="guess")[0] == 403
    assert redeem(build, token=lease.token + 1, lease_secret=lease.secret)[0] == 403
    past = clock.now() - timedelta(seconds=1)
    Build.objects.filter(id=build.id).update(lease_expires_at=past)
    status, answer = redeem(build, token=lease.token, lease_secret=lease.secret)
    assert (status, answer["code"]) == (403, "lease_not_live")


def test_a_build_that_ended_redeems_nothing(build: Build) -> None:
    lease = claim(build)
    build_fail(lease=lease, failure=Failure(code="X", blame=Blame.OURS, sentence="It broke."))
    assert redeem(build, token=lease.token, lease_secret=lease.secret)[0] == 403


def test_a_body_that_says_something_else_is_refused(build: Build) -> None:
    status, answer = redeem(build, token="x")
    assert (status, answer["code"]) == (400, "invalid_body")
