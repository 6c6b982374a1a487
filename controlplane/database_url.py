from collections.abc import Mapping
from types import MappingProxyType

from psycopg.conninfo import conninfo_to_dict
from psycopg_pool import ConnectionPool

from controlplane.keepalive import (
    IDLE_SECONDS,
    INTERVAL_SECONDS,
    PROBES,
    USER_TIMEOUT_SECONDS,
)
from controlplane.pooled_connection import PooledConnection


def database(url: str) -> dict[str, object]:
    """Return Django's DATABASES entry for a `postgresql://` URL (a socket folder: `?host=`)."""
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
    parameters = {name: value for name, value in info.items() if name not in _ADDRESS}
    return {
        "NAME": info.get("dbname") or "postgres",
        "USER": info.get("user") or "",
        "PASSWORD": info.get("password") or "",
        "HOST": info.get("host") or "",
        "PORT": str(info.get("port") or ""),
        "OPTIONS": {
            "pool": {
                **{"min_size": 0, "max_size": 8, "timeout": 10},
                "connection_class": PooledConnection,
                # Of a longer one the pauses double on, past the database's return.
                "reconnect_timeout": 5,
                "reconnect_failed": _connect_again,
            },
            **_ENDS_WHEN_SILENT,
            **parameters,
        },
    }
