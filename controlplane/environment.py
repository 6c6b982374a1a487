"""Reading of environment variables: a wrong value stops the start and names the variable."""

import os
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured
from psycopg.conninfo import conninfo_to_dict
from psycopg_pool import ConnectionPool

from controlplane.domain.spec.choices import CheckpointSource
from controlplane.domain.spec.repository_forms import bucket_folder
from controlplane.keepalive import (
    IDLE_SECONDS,
    INTERVAL_SECONDS,
    PROBES,
    USER_TIMEOUT_SECONDS,
)

_TRUE = {"1", "true", "yes", "on"}
_FALSE = {"0", "false", "no", "off", ""}


def env_str(name: str, default: str = "") -> str:
    """Return the variable's text, or `default` when it is unset or empty."""
    return os.environ.get(name, "").strip() or default


def env_bool(name: str, default: bool = False) -> bool:
    """Return the variable as a truth value."""
    text = os.environ.get(name)
    if text is None:
        return default
    if text.strip().lower() in _TRUE:
        return True
    if text.strip().lower() in _FALSE:
        return False
    raise ImproperlyConfigured(f"{name}: `{text}` is neither true nor false; write 1 or 0.")


def env_int(name: str, default: int, *, minimum: int = 0) -> int:
    """Return the variable as a whole number of at least `minimum`."""
    text = env_str(name)
    if not text:
        return default
    try:
        value = int(text)
    except ValueError:
        raise ImproperlyConfigured(f"{name}: `{text}` is not a whole number.") from None
    if value < minimum:
        raise ImproperlyConfigured(f"{name}: `{text}` is below {minimum}.")
    return value


def env_list(name: str, default: str = "", *, separator: str = ",") -> list[str]:
    """Return the variable's parts, stripped, without the empty ones."""
    return [part.strip() for part in env_str(name, default).split(separator) if part.strip()]


def env_path(name: str, default: Path) -> Path:
    """Return the variable as an absolute path."""
    return Path(env_str(name, str(default))).expanduser().absolute()


def env_secret(name: str, default: str = "") -> str:
    """Return the variable, or the content of the file that `<name>_FILE` names."""
    file_name = os.environ.get(f"{name}_FILE")
    if not file_name:
        return env_str(name, default)
    try:
        return Path(file_name).read_text(encoding="utf-8").strip()
    except OSError as error:
        raise ImproperlyConfigured(
            f"{name}_FILE: `{file_name}` cannot be read: {error.strerror}."
        ) from None


def env_url(name: str, default: str, *, schemes: tuple[str, ...]) -> str:
    """Return the variable as a URL with one of `schemes`."""
    text = env_str(name, default)
    scheme = urlsplit(text).scheme
    if scheme not in schemes:
        known = ", ".join(f"`{each}://`" for each in schemes)
        raise ImproperlyConfigured(f"{name}: `{scheme or text}` is not one of {known}.")
    return text.rstrip("/")


def env_optional_url(name: str, *, schemes: tuple[str, ...]) -> str | None:
    """Return the variable as a URL with one of `schemes`, or None when it is unset or empty."""
    return env_url(name, "", schemes=schemes) if env_str(name) else None


def artifact_url(default: str) -> str:
    """Return ARTIFACT_URL, which names a bucket or a folder that all hosts see."""
    url = env_url("ARTIFACT_URL", default, schemes=("file", "s3"))
    if url.startswith("s3://") and bucket_folder(CheckpointSource.S3, url) is None:
        # What stands before an @ may be a password.
        raise ImproperlyConfigured(
            f"ARTIFACT_URL: `s3://{url.removeprefix('s3://').rpartition('@')[2]}` does not name a "
            "bucket; write `s3://bucket/prefix`, with keys in AWS_ACCESS_KEY_ID and "
            "AWS_SECRET_ACCESS_KEY."
        )
    return url


def database(url: str) -> dict[str, object]:
    """Return Django's DATABASES entry for a `postgresql://` URL (a socket folder: `?host=`)."""
    parts = urlsplit(url)
    if parts.scheme not in {"postgresql", "postgres"}:
        raise ImproperlyConfigured(
            f"DATABASE_URL: `{parts.scheme or url}` is not supported; "
            "Enginehouse runs on PostgreSQL alone: `postgresql://user:password@host:5432/name`."
        )
    return {
        "ENGINE": "django.db.backends.postgresql",
        "CONN_MAX_AGE": 0,
        # A pooled connection that died with a restarted server is replaced before it is used.
        "CONN_HEALTH_CHECKS": True,
        **_database_address(url),
    }


_ADDRESS = frozenset({"dbname", "user", "password", "host", "port"})
_ENDS_WHEN_SILENT: Mapping[str, object] = MappingProxyType(
    {
        "connect_timeout": 5,
        "keepalives_idle": IDLE_SECONDS,
        "keepalives_interval": INTERVAL_SECONDS,
        "keepalives_count": PROBES,
        "tcp_user_timeout": USER_TIMEOUT_SECONDS * 1000,
    }
)
"""By libpq's own values a host that went dark is waited for a quarter of an hour, or two hours."""


def _connect_again(pool: ConnectionPool) -> None:
    """Go on trying to connect.

    A pool that has given up is set going by who waits for a connection. Those who have given up
    waiting fill its queue all the same, and past `max_waiting` nobody else gets that far.
    """
    pool.check()


def _database_address(url: str) -> dict[str, object]:
    # conninfo keeps percent-escapes, socket folders and options as libpq reads them.
    info = conninfo_to_dict(url)
    said = {name: value for name, value in info.items() if name not in _ADDRESS}
    return {
        "NAME": info.get("dbname") or "postgres",
        "USER": info.get("user") or "",
        "PASSWORD": info.get("password") or "",
        "HOST": info.get("host") or "",
        "PORT": str(info.get("port") or ""),
        "OPTIONS": {
            "pool": {
                **{"min_size": 0, "max_size": 8, "timeout": 10},
                # Of a longer one the pauses double on, past the database's return.
                "reconnect_timeout": 5,
                "reconnect_failed": _connect_again,
            },
            **_ENDS_WHEN_SILENT,
            **said,
        },
    }
