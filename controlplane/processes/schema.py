"""The database's schema: moved by one process at a time, waited for by all others."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager

from django.core.management import call_command
from django.db import OperationalError, connection
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.recorder import MigrationRecorder

from controlplane.clock import SYSTEM, Clock

_MIGRATOR_LOCK = 0x456E67696E65
_BEFORE_RELEASES = ("accounts", "0001_initial")
"""A migration that only databases of before the first release have applied."""


class SchemaBehind(Exception):
    """The schema did not reach this code's version in time; the message says what to run."""


class SchemaTooOld(SchemaBehind):
    """The schema is one of before the first release, from which no migration leads here."""


def migrate(*, verbosity: int = 0) -> None:
    """Bring the schema up to this code; a second migrator waits and then finds nothing to do.

    Raises SchemaTooOld.
    """
    with _advisory_lock(_MIGRATOR_LOCK):
        _refuse_older(MigrationRecorder(connection).applied_migrations())
        call_command("migrate", interactive=False, verbosity=verbosity)


def wait_for_schema(*, timeout_seconds: float, clock: Clock = SYSTEM) -> None:
    """Return once no migration of this code is missing; raise SchemaBehind after the time."""
    deadline = clock.monotonic() + timeout_seconds
    while (missing := _missing()) != 0:
        if clock.monotonic() > deadline:
            raise SchemaBehind(
                "The database does not answer."
                if missing is None
                else f"The database lacks {missing} migrations of this release; "
                "run `manage.py prepare` once."
            )
        clock.sleep(0.1)


def _missing() -> int | None:
    try:
        executor = MigrationExecutor(connection)
        _refuse_older(executor.loader.applied_migrations)
        return len(executor.migration_plan(executor.loader.graph.leaf_nodes()))
    except OperationalError:
        return None
    finally:
        connection.close()


def _refuse_older(applied: Collection[tuple[str, str]]) -> None:
    if _BEFORE_RELEASES in applied:
        raise SchemaTooOld(
            "The database was made before Enginehouse 0.1.0, and nothing leads from its schema to "
            "this one. Set DATABASE_URL to an empty database, or move the data directory away."
        )


@contextmanager
def _advisory_lock(key: int) -> Iterator[None]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s)", [key])
        try:
            yield
        finally:
            cursor.execute("SELECT pg_advisory_unlock(%s)", [key])
