"""Secrets are sealed at rest, open only where they belong, and outlive the rotation of keys."""

import json
from pathlib import Path

import pytest
from django.db import connection

from apps.accounts.key_ring import (
    KeyRingError,
    key_ring_ensure,
    key_ring_load,
    key_ring_rotate,
)
from apps.rest.errors import InvalidInput, NotFound
from apps.secrets.models import Secret
from apps.secrets.services.rotation import secret_rotate
from apps.secrets.services.values import secret_delete, secret_reveal, secret_set
from tests.factories import make_team

pytestmark = pytest.mark.django_db

VALUE = "hf_CanaryCanaryCanary"


def database_text() -> str:
    with connection.cursor() as cursor:
        cursor.execute("SELECT row_to_json(s)::text, s.ciphertext FROM secrets_secret s")
        return "".join(f"{row}{bytes(sealed)!r}" for row, sealed in cursor.fetchall())


def test_a_value_comes_back_to_a_redeemer_and_is_nowhere_in_the_database() -> None:
    team = make_team()
    secret_set(team=team, name="hf_access_token", value=VALUE)
    assert secret_reveal(team=team, name="hf_access_token") == VALUE
    assert Secret.objects.get().last_used_at is not None
    assert VALUE not in database_text()
    assert VALUE.encode().hex() not in database_text()


def test_hyphens_and_underscores_are_one_name() -> None:
    team = make_team()
    secret_set(team=team, name="hf-access-token", value="old")
    secret_set(team=team, name="hf_access_token", value="new")
    assert secret_reveal(team=team, name="hf-access_token") == "new"
    assert Secret.objects.count() == 1
    assert secret_delete(team=team, name="hf-access-token") == "hf_access_token"
    assert secret_reveal(team=team, name="hf_access_token") is None


@pytest.mark.parametrize("name", ["", "a b", "ä", "a/b", "x" * 254, "a\n"])
def test_names_that_a_config_could_not_write_are_refused(name: str) -> None:
    with pytest.raises(InvalidInput, match="cannot be the name"):
        secret_set(team=make_team(), name=name, value="v")


@pytest.mark.parametrize("value", ["", "x" * 100_001])
def test_a_value_has_a_length(value: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        secret_set(team=make_team(), name="a", value=value)
    assert caught.value.fields == ("value",)


def test_a_row_copied_to_another_name_or_team_stays_shut() -> None:
    team, other = make_team(), make_team()
    secret_set(team=team, name="mine", value=VALUE)
    Secret.objects.update(name="yours")
    with pytest.raises(KeyRingError, match="does not open"):
        secret_reveal(team=team, name="yours")
    Secret.objects.update(name="mine", team=other)
    with pytest.raises(KeyRingError, match="does not open"):
        secret_reveal(team=other, name="mine")


def test_the_ring_is_made_once_readable_by_its_owner_alone(key_ring: Path) -> None:
    first = key_ring_ensure(key_ring)
    assert key_ring.stat().st_mode & 0o777 == 0o600
    assert key_ring_ensure(key_ring) == first
    assert len(first.keys[first.primary]) == 32
    assert str(first.keys[first.primary]) not in repr(first)


def test_what_a_killed_writer_of_the_ring_left_is_gone_after_the_next(key_ring: Path) -> None:
    key_ring_ensure(key_ring)
    unfinished = key_ring.with_name(f".{key_ring.name}.0a1b2c3d")
    unfinished.write_bytes(key_ring.read_bytes())
    key_ring_rotate(key_ring)
    assert not unfinished.exists()


def test_a_lost_ring_is_said_and_never_replaced_in_silence(key_ring: Path) -> None:
    team = make_team()
    secret_set(team=team, name="a", value=VALUE)
    key_ring.unlink()
    for act in (
        lambda: secret_set(team=team, name="b", value="v"),
        lambda: secret_reveal(team=team, name="a"),
        secret_rotate,
    ):
        with pytest.raises(KeyRingError, match="no key ring"):
            act()
    assert not key_ring.exists()


@pytest.mark.parametrize("content", ["", "[]", '{"format": 1}', '{"primary": "a", "keys": {}}'])
def test_a_broken_ring_is_named(key_ring: Path, content: str) -> None:
    key_ring.parent.mkdir()
    key_ring.write_text(content)
    with pytest.raises(KeyRingError, match=str(key_ring)):
        key_ring_load(key_ring)


def test_a_missing_secret_cannot_be_deleted() -> None:
    with pytest.raises(NotFound):
        secret_delete(team=make_team(), name="nothing")


def test_a_ring_whose_key_was_cut_says_so(key_ring: Path) -> None:
    key_ring_ensure(key_ring)
    content = json.loads(key_ring.read_text())
    content["keys"] = {name: key[:8] for name, key in content["keys"].items()}
    key_ring.write_text(json.dumps(content))
    with pytest.raises(KeyRingError, match="a key has 48 bits instead of 256"):
        key_ring_load(key_ring)
