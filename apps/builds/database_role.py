"""A PostgreSQL role for build workers: it reaches what a build is made of, and nothing of people.

A build host runs other people's checkpoints, and code that an admin granted. Whoever breaks into
it finds this role's password, so the role must not read keys, sealed secrets, people or usage.
"""

import re
from collections.abc import Iterable, Iterator, Mapping

from django.db import connection, transaction
from django.db.models import Model
from psycopg import sql

from apps.leases.kinds import lease_kinds
from apps.rest.errors import InvalidInput

BUILD_WORKER_ROLE = "enginehouse_build_worker"
_NAME = re.compile(r"[a-z_][a-z0-9_]{0,62}")
_READ, _WRITE, _DELETE = "SELECT", "SELECT, INSERT, UPDATE", "SELECT, INSERT, UPDATE, DELETE"
TABLES: Mapping[str, str] = {
    "django_migrations": _READ,
    "accounts_team": _READ,
    "builds_build": _WRITE,
    "builds_buildstep": _WRITE,
    "builds_artifact": _WRITE,
    "builds_artifactpush": _WRITE,
    "configs_config": _READ,
    "configs_revision": _READ,
    "configs_remotecodegrant": _READ,
    "configs_calibrationset": _READ,
    "configs_calibrationversion": _READ,
    "configs_calibrationpreview": _WRITE,
    "fleet_node": _READ,
    "fleet_device": _READ,
    "fleet_poolteam": _READ,
    "fleet_devicelease": _WRITE,
    "fleet_worker": _DELETE,
    "fleet_listening": _READ,
    "telemetry_logchunk": _WRITE,
}
LOCKED = ("fleet_device",)
"""Rows of which are locked, which takes the right to change a column: here that of the key."""
COLUMNS: Mapping[str, tuple[str, ...]] = {
    "accounts_user": ("id", "email"),
    "secrets_secret": ("id", "team_id", "name", "expires_at"),
}
"""Who asked for a build, for its passport; and which secrets a team has, and until when.

Whatever is not listed is refused, but for leases: a host cleans up after all of its workers."""


@transaction.atomic
def build_worker_role_set(*, name: str = BUILD_WORKER_ROLE, password: str = "") -> None:
    """Make the role, or give the one that is there exactly these rights. Raises InvalidInput.

    Without a password an existing one stays, and a new role signs in by other means only.
    """
    if not _NAME.fullmatch(name):
        raise InvalidInput(
            f"`{name}` is no name of a role: small letters, digits and `_`, at most 63.",
            fields=["name"],
        )
    with connection.cursor() as cursor:
        for statement in _statements(name, password, exists=build_worker_role_exists(name)):
            cursor.execute(statement.as_string(connection.connection))


def build_worker_role_exists(name: str = BUILD_WORKER_ROLE) -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [name])
        return cursor.fetchone() is not None


def _statements(name: str, password: str, *, exists: bool) -> Iterator[sql.Composable]:
    role = sql.Identifier(name)
    if not exists:
        yield sql.SQL("CREATE ROLE {} LOGIN").format(role)
    if password:
        yield sql.SQL("ALTER ROLE {} PASSWORD {}").format(role, sql.Literal(password))
    for kind in ("TABLES", "SEQUENCES"):
        yield sql.SQL("REVOKE ALL ON ALL {} IN SCHEMA public FROM {}").format(sql.SQL(kind), role)
    yield sql.SQL("GRANT USAGE ON SCHEMA public TO {}").format(role)
    for table, rights in TABLES.items():
        yield sql.SQL("GRANT {} ON {} TO {}").format(sql.SQL(rights), sql.Identifier(table), role)
    for table in LOCKED:
        yield sql.SQL("GRANT UPDATE (id) ON {} TO {}").format(sql.Identifier(table), role)
    for table, columns in COLUMNS.items():
        yield sql.SQL("GRANT SELECT ({}) ON {} TO {}").format(
            _columns(columns), sql.Identifier(table), role
        )
    for leased in lease_kinds().values():
        yield _of_leases(leased.model, role)
    for sequence in _sequences():
        yield sql.SQL("GRANT USAGE ON SEQUENCE {} TO {}").format(sql.Identifier(sequence), role)


def _of_leases(model: type[Model], role: sql.Identifier) -> sql.Composable:
    columns = [each.attname for each in model._meta.concrete_fields]
    own = _columns([each for each in columns if each.startswith("lease_")])
    key, table = _columns([model._meta.pk.attname]), sql.Identifier(model._meta.db_table)
    return sql.SQL("GRANT SELECT ({}, {}), UPDATE ({}) ON {} TO {}").format(
        key, own, own, table, role
    )


def _columns(names: Iterable[str]) -> sql.Composable:
    return sql.SQL(", ").join([sql.Identifier(name) for name in names])


def _sequences() -> list[str]:
    with connection.cursor() as cursor:
        written = [table for table, rights in TABLES.items() if rights != _READ]
        cursor.execute(
            "SELECT sequence.relname FROM pg_depend"
            " JOIN pg_class sequence ON sequence.oid = objid AND sequence.relkind = 'S'"
            " JOIN pg_class owner ON owner.oid = refobjid"
            " WHERE owner.relname = ANY(%s) AND deptype IN ('a', 'i')",
            [written],
        )
        return [str(name) for (name,) in cursor.fetchall()]
