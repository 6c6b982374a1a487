"""The PostgreSQL of the tests: the product's, on a disk that it need not wait for."""

from dataclasses import replace
from pathlib import Path

from controlplane.processes import postgres
from controlplane.processes.server import ServerCommand


def postgres_command(folder: Path) -> ServerCommand:
    """Return the product's command without waits for the disk.

    Only a machine that loses power could tell the difference. A server that is killed between two
    checkpoints would tell: it would first bring the files of thousands of emptied tables to disk.
    """
    command = postgres.command(folder)
    return replace(command, argv=(*command.argv, "-c", "fsync=off"))
