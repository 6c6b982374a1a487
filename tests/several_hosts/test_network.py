"""The network of the tests of several hosts: who reaches whom, and that what is cut is silent."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack

import psutil
import pytest

from tests.several_hosts.network import (
    Loopback,
    Namespaces,
    Network,
    namespaces_can_be_made,
    network,
)

pytestmark = pytest.mark.process
_LISTEN = (
    "import socket, sys\n"
    "held = [socket.create_server((sys.argv[1], int(port))) for port in sys.argv[2:]]\n"
    "print('ready', flush=True); sys.stdin.read()"
)
_TRY = (
    "import socket, sys\n"
    "try: socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=0.5)\n"
    "except TimeoutError: print('silence')\n"
    "except OSError: print('refused')\n"
    "else: print('reached')"
)
_NO_NAMESPACES = "no network namespaces can be made: that takes root, iproute2 and iptables"
_OPEN, _OTHER, _CLOSED = 8000, 6379, 8001


@pytest.fixture
def net() -> Iterator[Network]:
    """Hosts `a` and `b` that listen at two ports each."""
    if not namespaces_can_be_made():
        pytest.skip(_NO_NAMESPACES)
    with network("a", "b") as made, ExitStack() as listening:
        for host in ("a", "b"):
            _listen(made, host, listening)
        yield made


def _listen(net: Network, host: str, listening: ExitStack) -> None:
    ports = (str(_OPEN), str(_OTHER))
    words = [*net.words(host), sys.executable, "-c", _LISTEN, net.address(host), *ports]
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    listening.enter_context(process)
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"


def _tried(net: Network, source: str, target: str, port: int = _OPEN) -> str:
    words = net.words(source) if source != "outside" else _outside(net)
    command = [*words, sys.executable, "-c", _TRY, net.address(target), str(port)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def _outside(net: Network) -> list[str]:
    assert isinstance(net, Namespaces)
    return [*net.words_outside]


def test_hosts_and_clients_reach_each_other_by_address(net: Network) -> None:
    assert _tried(net, "a", "b") == _tried(net, "b", "a") == "reached"
    assert _tried(net, "outside", "a") == _tried(net, "outside", "b") == "reached"
    assert _tried(net, "b", "a", _CLOSED) == "refused"


def test_a_port_that_is_cut_is_silent_to_one_host_alone(net: Network) -> None:
    net.drop("b", "a", ports_of_other=(_OPEN,))
    assert _tried(net, "b", "a", _OPEN) == "silence"
    assert _tried(net, "b", "a", _OTHER) == "reached"
    assert _tried(net, "a", "b", _OPEN) == "reached"
    assert _tried(net, "outside", "a", _OPEN) == "reached"


def test_two_hosts_that_are_cut_apart_are_reached_by_clients(net: Network) -> None:
    net.drop("b", "a")
    assert _tried(net, "b", "a") == _tried(net, "a", "b") == "silence"
    assert _tried(net, "outside", "a") == _tried(net, "outside", "b") == "reached"


def test_nobody_reaches_a_host_that_is_cut_off(net: Network) -> None:
    net.isolate("b")
    assert (
        _tried(net, "a", "b") == _tried(net, "outside", "b") == _tried(net, "b", "a") == "silence"
    )
    assert _tried(net, "outside", "a") == "reached"


def test_a_host_that_is_closed_is_asked_where_it_was_opened_and_cuts_go_before(
    net: Network,
) -> None:
    net.close()
    net.open("b", "a", ports_of_other="8000:8010")
    assert _tried(net, "b", "a", _OPEN) == "reached"
    assert _tried(net, "b", "a", _OTHER) == _tried(net, "a", "b", _OPEN) == "refused"
    net.drop("b", "a", ports_of_other=(_OPEN,))
    assert _tried(net, "b", "a", _OPEN) == "silence"
    net.heal()
    assert _tried(net, "b", "a", _OPEN) == "reached"
    assert _tried(net, "outside", "a", _OTHER) == "reached"


def test_what_was_cut_heals(net: Network) -> None:
    net.isolate("b")
    net.drop("a", "b")
    net.heal()
    assert _tried(net, "a", "b") == _tried(net, "outside", "b") == "reached"


def test_nothing_of_it_is_left_behind() -> None:
    if not namespaces_can_be_made():
        pytest.skip(_NO_NAMESPACES)
    with network("a") as made:
        keeper = int(made.words("a")[1].split("/")[2])
        assert psutil.pid_exists(keeper)
    assert not psutil.pid_exists(keeper)


def test_hosts_on_one_loopback_device_have_addresses_of_their_own() -> None:
    made = Loopback(["a", "b"])
    assert made.address("a") != made.address("b")
    assert {made.address(host).partition(".")[0] for host in ("a", "b")} == {"127"}
