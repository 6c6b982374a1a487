"""People, teams, secrets, keys, sets, grants and audit entries in numbers: for `many_rows.py`."""

from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from django.db.models import Model
from django.utils import timezone

from apps.accounts.models import (
    ApiKey,
    ApiKeyType,
    AuditEntry,
    Invitation,
    Membership,
    RestrictedEnvironment,
    Team,
    User,
)
from apps.configs.calibration_sets.models import CalibrationSet, CalibrationVersion
from apps.configs.models import LookaheadTuning, Revision
from apps.configs.remote_code.models import RemoteCodeGrant
from apps.fleet.models import DevicePrice, PoolTeam
from apps.secrets.models import Secret, SecretTest


def people_secrets_and_sets(team: Team, user: User, count: int) -> None:
    """Put so many of each into the team, and fifty times as many audit entries."""
    _people(team, user, count)
    _secrets_and_keys(team, count)
    _calibration_sets(team, count)
    _lookahead_tunings(team, count)
    _audit_entries(team, user, count * 50)
    made(DevicePrice(kind="H100", per_hour=2, since=timezone.now()) for _ in range(count))


def made(rows: Iterable[Model]) -> Any:
    """Return the rows once they are in the database."""
    every = list(rows)
    return type(every[0])._default_manager.bulk_create(every, batch_size=1000)


def _people(team: Team, user: User, count: int) -> None:
    teams = made(Team(name=f"team-{number}") for number in range(count))
    people = made(User(email=f"person-{number}@example.com", team=team) for number in range(count))
    made(Membership(team=team, user=person, role="member") for person in people)
    made(Membership(team=each, user=user, role="admin") for each in teams)
    made(PoolTeam(pool=f"pool-{number}", team=each) for number, each in enumerate(teams))
    restricted = made(RestrictedEnvironment(team=team, name=f"place-{n}") for n in range(count))
    for environment, person in zip(restricted, people, strict=True):
        environment.people.add(person, user)
    soon = timezone.now() + timedelta(days=1)
    made(
        Invitation(
            team=team,
            token_sha256=f"{number:064x}",
            email=f"invited-{number}@example.com",
            invited_by=user,
            expires_at=soon,
        )
        for number in range(count)
    )
    made(
        RemoteCodeGrant(
            source="HF",
            repo="org/model",
            commit=f"{number:040x}",
            reason="Read and found harmless.",
            created_by=user,
            granted_by=user.email,
        )
        for number in range(count)
    )


def _secrets_and_keys(team: Team, count: int) -> None:
    secrets = made(
        Secret(team=team, name=f"secret_{number}", key_id="k", nonce=b"n", ciphertext=b"c")
        for number in range(count)
    )
    made(
        SecretTest(secret=secrets[0], kind="hub", target=f"org/model-{number}", works=True)
        for number in range(count)
    )
    made(
        ApiKey(
            team=team,
            name=f"key {number}",
            prefix=f"key{number:05}",
            secret_sha256=f"{number:064x}",
            type=ApiKeyType.WORKSPACE_MANAGE_ALL,
        )
        for number in range(count)
    )


def _calibration_sets(team: Team, count: int) -> None:
    sets = made(CalibrationSet(team=team, name=f"set-{number}") for number in range(count))
    made(
        CalibrationVersion(
            set=each,
            number=number,
            digest="sha256:1",
            content_digest="sha256:1",
            file_name="rows.jsonl",
            uploaded_name="rows.jsonl",
            column="text",
            rows=1000,
            empty_rows=0,
            short_rows=0,
            size_bytes=400_000,
            head=["a row"],
        )
        for each in sets
        for number in (1, 2)
    )


def _lookahead_tunings(team: Team, count: int) -> None:
    revision = Revision.objects.filter(config__team=team).earliest("created_at")
    made(
        LookaheadTuning(
            team=team, revision=revision, dataset=f"team/set-{number}", requests=1, pool="default"
        )
        for number in range(count)
    )


def _audit_entries(team: Team, user: User, count: int) -> None:
    made(
        AuditEntry(
            actor_kind="person",
            actor_label=user.email,
            source="page",
            action="secret.replace",
            target_id=str(number),
            team_id=team.id,
            team_name=team.name,
            after={"name": "secret"},
        )
        for number in range(count)
    )
