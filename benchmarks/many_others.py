"""People, teams, secrets, keys, sets, prices and audit entries in numbers: for `many_rows.py`."""

from collections.abc import Iterable
from typing import Any

from django.db.models import Model
from django.utils import timezone

from apps.accounts.models import ApiKey, ApiKeyType, AuditEntry, Membership, Team, User
from apps.configs.calibration_sets.models import CalibrationSet, CalibrationVersion
from apps.fleet.models import DevicePrice
from apps.secrets.models import Secret


def people_secrets_and_sets(team: Team, user: User, count: int) -> None:
    """Put so many of each into the team, and fifty times as many audit entries."""
    _people(team, user, count)
    _secrets_and_keys(team, count)
    _calibration_sets(team, count)
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


def _secrets_and_keys(team: Team, count: int) -> None:
    made(
        Secret(team=team, name=f"secret_{number}", key_id="k", nonce=b"n", ciphertext=b"c")
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
