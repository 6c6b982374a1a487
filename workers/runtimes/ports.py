"""A port for an engine, which listens on it only once it has loaded."""

import secrets
import socket
from contextlib import suppress
from pathlib import Path

_LOWEST = 15_000
_TRIES = 100
_GIVEN_OUT = Path("/proc/sys/net/ipv4/ip_local_port_range")


def free_port(host: str) -> int:
    """Return a port that nothing listens on, below those that the kernel gives out.

    One of the kernel's choice could be another program's before the engine listens.
    """
    count = _first_given_out() - _LOWEST
    for _ in range(_TRIES if count > 0 else 0):
        with suppress(OSError):
            return _bound(host, _LOWEST + secrets.randbelow(count))
    return _bound(host, 0)


def _first_given_out() -> int:
    try:
        return int(_GIVEN_OUT.read_text().split()[0])
    except OSError:
        return 0


def _bound(host: str, port: int) -> int:
    """Return the port, which can be had. Raises OSError for one that cannot."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.bind((host, port))
        return int(probe.getsockname()[1])
