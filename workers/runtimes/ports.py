"""A port for an engine, which listens on it only once it has loaded."""

import secrets
import socket
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

_LOWEST = 15_000
_UNPRIVILEGED = 1024
_TRIES = 100
_GIVEN_OUT = Path("/proc/sys/net/ipv4/ip_local_port_range")


class PortRange(NamedTuple):
    """Ports from the lowest to the highest, both included."""

    lowest: int
    highest: int


class NoFreePort(OSError):
    """Other programs listen on the ports of the range."""


def ports_below_the_kernels() -> PortRange:
    """Return the ports from 15,000 up to those that the kernel gives out, or all unprivileged ones.

    One of the kernel's choice could be another program's before the engine listens.
    """
    first = _first_given_out()
    return PortRange(_LOWEST, first - 1) if first > _LOWEST else PortRange(_UNPRIVILEGED, 65_535)


def read_ports(text: str) -> PortRange:
    """Return the range that `20000-20999` names. Raises ValueError."""
    lowest, _, highest = text.partition("-")
    if lowest.isdecimal() and highest.isdecimal():
        ports = PortRange(int(lowest), int(highest))
        if _UNPRIVILEGED <= ports.lowest <= ports.highest < 65_536:
            return ports
    raise ValueError(f"`{text}` is no range of ports from 1024 to 65535, such as `20000-20999`.")


def free_port(host: str, ports: PortRange | None = None) -> int:
    """Return a port of the range that nothing listens on. Raises NoFreePort."""
    lowest, highest = ports or ports_below_the_kernels()
    for _ in range(_TRIES):
        with suppress(OSError):
            return _bound(host, lowest + secrets.randbelow(highest - lowest + 1))
    raise NoFreePort(f"none of {_TRIES} ports tried between {lowest} and {highest} is free")


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
