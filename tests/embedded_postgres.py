"""The PostgreSQL of the tests: the product's, with no waits for the disk; their database."""

from dataclasses import replace
from pathlib import Path

from controlplane.processes import postgres
from controlplane.processes.server import ServerCommand

TEST_DATABASE = "test_postgres"
_WRITTEN_BY_MIGRATE = ("django_content_type", "auth_permission")


def postgres_command(folder: Path) -> ServerCommand:
    """Return the product's command without waits for the disk.

    Only a machine that loses power could tell the difference. A server that is killed between two
    checkpoints would tell: it would first bring the files of thousands of emptied tables to disk.
    """
    command = postgres.command(folder)
    return replace(command, argv=(*command.argv, "-c", "fsync=off"))


def make_test_database() -> None:
    """Make the database of the tests on a server that has none, and migrate it."""
    from django.db import connection

    connection.settings_dict["TEST"]["NAME"] = TEST_DATABASE
    connection.creation.create_test_db(verbosity=0, autoclobber=True, serialize=False)
    leave_database()


def use_test_database() -> None:
    """Let Django use the database of the tests from now on."""
    from django.conf import settings
    from django.db import connection

    connection.close()
    settings.DATABASES["default"]["NAME"] = connection.settings_dict["NAME"] = TEST_DATABASE


def empty_database() -> None:
    """Delete all rows but those that Django writes after a migration, whoever still has it open.

    Django's own TRUNCATE makes new files for every table: half a CPU second after each test with
    transactions of its own.
    """
    from django.db import connection, transaction

    names = connection.introspection.django_table_names(only_existing=True, include_views=False)
    tables = [f'"{name}"' for name in names if name not in _WRITTEN_BY_MIGRATE]
    any_row = " UNION ALL ".join(f"(SELECT '{table}' FROM {table} LIMIT 1)" for table in tables)
    with transaction.atomic(), connection.cursor() as cursor:
        # As TRUNCATE does: what others have begun to write ends first, and goes as well.
        cursor.execute(f"LOCK TABLE {', '.join(tables)} IN ACCESS EXCLUSIVE MODE")
        cursor.execute("SET LOCAL session_replication_role = replica")  # no triggers
        cursor.execute(any_row)
        for (table,) in cursor.fetchall():
            cursor.execute(f"DELETE FROM {table}")


def leave_database() -> None:
    """Close this thread's connections and those in the pool."""
    from django.db import connections

    connections.close_all()
    for each in connections.all():
        each.close_pool()
