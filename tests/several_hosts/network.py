"""Hosts that reach each other by a network of their own, which can be cut.

Each host is a network namespace with a line to a router, in whose namespace clients are. Where
namespaces cannot be made, hosts are loopback addresses, and nothing can be cut.
"""

import ctypes
import os
import socket
import subprocess
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Protocol, TypeVar

from tests.waiting import wait_for

PORTS = (8000, 8001, 5432, 6379)
"""Of web, gateway, PostgreSQL and Valkey: those of the compose files."""
RANGE = "10.77.0.0/16"
_LIBC = ctypes.CDLL(None, use_errno=True)
_START_OF_ROUTER = """\
echo 1 > /proc/sys/net/ipv4/ip_forward
ip link set lo up
iptables -N CUT
for chain in INPUT FORWARD OUTPUT; do iptables -A $chain -j CUT; done
"""
_Value = TypeVar("_Value")


class CannotCut(Exception):
    """Hosts that are addresses of one loopback device have no line to cut."""


class Network(Protocol):
    """Hosts by name."""

    def address(self, host: str) -> str:
        """Return the address of a host, at which all others reach it."""

    def words(self, host: str) -> Sequence[str]:
        """Return what stands before a command that is to run on a host."""

    def from_outside(self, act: Callable[[], _Value]) -> _Value:
        """Return what is done where clients are, who reach each host as long as its line is up."""

    @property
    def address_outside(self) -> str:
        """Return the address of what listens where clients are."""

    def close(self) -> None:
        """Let hosts reach no other one, as a firewall does, but where `open` says."""

    def open(self, one: str, other: str, *, ports_of_other: str) -> None:
        """Let one host ask another at these ports, such as `8000` or `15000:15099`."""

    def drop(self, one: str, other: str, *, ports_of_other: Sequence[int] = ()) -> None:
        """Let packets between two hosts vanish, or those to and from these ports of the other."""

    def isolate(self, host: str) -> None:
        """Let all packets from and to a host vanish."""

    def heal(self) -> None:
        """Let all packets pass again."""


@contextmanager
def network(*hosts: str, on_loopback: bool = False) -> Iterator[Network]:
    """Give a network of namespaces, or one of loopback addresses where none can be made."""
    if not on_loopback and namespaces_can_be_made():
        with ExitStack() as stack:
            yield Namespaces(hosts, stack)
    else:
        yield Loopback(hosts)


def namespaces_can_be_made() -> bool:
    """Return whether this user may make network namespaces, and filter packets in them."""
    tried = "ip link set lo up && iptables -I FORWARD -j DROP"
    try:
        ran = subprocess.run(
            ["unshare", "--net", "sh", "-c", tried], capture_output=True, check=False
        )
    except OSError:
        return False
    return ran.returncode == 0


class Namespaces:
    """A namespace for each host and one for the router; all of it is gone with this process."""

    def __init__(self, hosts: Iterable[str], stack: ExitStack) -> None:
        self._stack = stack
        self._router = self._made()
        self._hosts = {name: self._made() for name in hosts}
        self._numbers = {name: number for number, name in enumerate(self._hosts, start=1)}
        for name in self._hosts:
            self._join(name)
        self._in(self._router, _START_OF_ROUTER)
        self._clients = stack.enter_context(
            ThreadPoolExecutor(8, "clients", initializer=_enter, initargs=(self._router,))
        )

    def address(self, host: str) -> str:
        return f"10.77.{self._numbers[host]}.1"

    def words(self, host: str) -> Sequence[str]:
        return _words(self._hosts[host])

    @property
    def words_outside(self) -> Sequence[str]:
        """What stands before a command that is to run where clients are."""
        return _words(self._router)

    @property
    def address_outside(self) -> str:
        return "10.77.1.254"

    def from_outside(self, act: Callable[[], _Value]) -> _Value:
        return self._clients.submit(act).result()

    def close(self) -> None:
        self._in(self._router, "iptables -A FORWARD -j REJECT")

    def open(self, one: str, other: str, *, ports_of_other: str) -> None:
        for packets in self._packets(one, other, ports_of_other):
            # Before what closes, after what cuts.
            self._in(self._router, f"iptables -I FORWARD 2 {packets} -j ACCEPT")

    def drop(self, one: str, other: str, *, ports_of_other: Sequence[int] = ()) -> None:
        for ports in [str(each) for each in ports_of_other] or [""]:
            self._cut(*self._packets(one, other, ports))

    def isolate(self, host: str) -> None:
        line = f"to-{self._numbers[host]}"
        self._cut(f"-i {line}", f"-o {line}")

    def heal(self) -> None:
        self._in(self._router, "iptables -F CUT")

    def _packets(self, one: str, other: str, ports: str) -> tuple[str, str]:
        """Return those that one sends to these ports of the other, and those that come back."""
        left, right = self.address(one), self.address(other)
        to, back = (f"-p tcp --dport {ports}", f"-p tcp --sport {ports}") if ports else ("", "")
        return f"-s {left} -d {right} {to}", f"-s {right} -d {left} {back}"

    def _cut(self, *packets: str) -> None:
        for each in packets:
            self._in(self._router, f"iptables -A CUT {each} -j DROP")

    def _join(self, host: str) -> None:
        number, pid = self._numbers[host], self._hosts[host]
        router = f"10.77.{number}.254"
        self._in(
            self._router,
            f"ip link add to-{number} type veth peer name eth0 netns {pid};"
            f" ip address add {router}/24 dev to-{number}; ip link set to-{number} up",
        )
        self._in(
            pid,
            f"ip link set lo up; ip address add {self.address(host)}/24 dev eth0;"
            f" ip link set eth0 up; ip route add default via {router};"
            f" echo {host} > /proc/sys/kernel/hostname",
        )

    def _made(self) -> int:
        """Return the process that keeps a new namespace, until this one closes its input."""
        keeper = subprocess.Popen(["unshare", "--net", "--uts", "cat"], stdin=subprocess.PIPE)
        self._stack.callback(keeper.wait)
        assert keeper.stdin is not None
        self._stack.callback(keeper.stdin.close)
        wait_for(lambda: _is_elsewhere(keeper.pid), what="a namespace")
        return keeper.pid

    def _in(self, pid: int, script: str) -> None:
        subprocess.run([*_words(pid), "sh", "-e", "-c", script], check=True)


class Loopback:
    """Loopback addresses on which the ports of the compose files are free."""

    def __init__(self, hosts: Iterable[str]) -> None:
        free = _free_addresses()
        self._addresses = {name: next(free) for name in hosts}

    def address(self, host: str) -> str:
        return self._addresses[host]

    def words(self, host: str) -> Sequence[str]:
        return ()

    @property
    def address_outside(self) -> str:
        return "127.0.0.1"

    def from_outside(self, act: Callable[[], _Value]) -> _Value:
        return act()

    def drop(self, one: str, other: str, *, ports_of_other: Sequence[int] = ()) -> None:
        raise CannotCut

    def isolate(self, host: str) -> None:
        raise CannotCut

    def close(self) -> None:
        """Nothing stands between addresses of one device."""

    def open(self, one: str, other: str, *, ports_of_other: str) -> None:
        """All is open."""

    def heal(self) -> None:
        """Nothing was cut."""


def _words(pid: int) -> Sequence[str]:
    return ("nsenter", f"--net=/proc/{pid}/ns/net", f"--uts=/proc/{pid}/ns/uts")


def _enter(pid: int) -> None:
    """Have this thread alone open its sockets in the namespace."""
    with Path(f"/proc/{pid}/ns/net").open() as namespace:
        if _LIBC.setns(namespace.fileno(), 0) != 0:
            raise OSError(ctypes.get_errno(), "setns")


def _is_elsewhere(pid: int) -> bool:
    there, here = (Path(f"/proc/{each}/ns/uts").readlink() for each in (pid, "self"))
    return there != here


def _free_addresses() -> Iterator[str]:
    pid = os.getpid()
    for third in range(256):
        address = f"127.{1 + pid % 250}.{third}.{1 + pid // 250 % 250}"
        if all(_is_free(address, port) for port in PORTS):
            yield address


def _is_free(address: str, port: int) -> bool:
    with socket.socket() as tried:
        try:
            tried.bind((address, port))
        except OSError:
            return False
    return True
