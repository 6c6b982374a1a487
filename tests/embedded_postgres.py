"""The PostgreSQL of the tests: the product's, with no waits for the disk; their database."""

from dataclasses import replace
from pathlib import Path

from controlplane.processes import postgres
from controlplane.processes.server import ServerCommand

TEST_DATABASE = "test_postgres"


def postgres_command(folder: Path) -> ServerCommand:
    """Return the product's command without waits for the disk.

    Only a machine that loses power could tell the difference. A server that is killed between two
    checkpoints would tell: it would first bring the files of thousands of emptied tables to disk.
    """
    command = postgres.command(folder)
    return replace(command, argv=(*command.argv, "-c", "fsync=off"))


def make_test_database() -> None:
    """Make the database of the tests on a server that has none, and migrate it.

    Tests with transactions of their own end with a TRUNCATE of every table, the audit trail too.
    """
    from django.db import connection

    connection.settings_dict["TEST"]["NAME"] = TEST_DATABASE
    connection.creation.create_test_db(verbosity=0, autoclobber=True, serialize=False)
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE accounts_auditentry DISABLE TRIGGER accounts_audit_not_emptied")
    leave_database()


def use_test_database() -> None:
    """Let Django use the database of the tests from now on."""
    from django.conf import settings
    from django.db import connection

    connection.close()
    settings.DATABASES["default"]["NAME"] = connection.settings_dict["NAME"] = TEST_DATABASE


def leave_database() -> None:
    """Close this thread's connections and those in the pool."""
    from django.db import connections

    connections.close_all()
    for each in connections.all():
        each.close_pool()
