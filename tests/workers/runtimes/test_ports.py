"""A port for an engine is nobody's until the engine listens on it."""

import itertools
import socket
from pathlib import Path

import pytest

from workers.runtimes import ports


def test_an_engine_gets_a_port_that_the_kernel_gives_to_nobody() -> None:
    first_given_out = int(ports._GIVEN_OUT.read_text().split()[0])
    if first_given_out <= ports._LOWEST:
        pytest.skip("the kernel of this machine gives out those ports too")
    assert ports._LOWEST <= ports.free_port("127.0.0.1") < first_given_out


def test_a_taken_port_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    draws = itertools.count()
    monkeypatch.setattr(ports.secrets, "randbelow", lambda count: next(draws) % count)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        (first,) = taken.getsockname()[1:]
        assert ports.free_port("127.0.0.1", ports.PortRange(first, first + 99)) > first


def test_where_the_kernel_gives_out_all_ports_any_unprivileged_one_is_taken(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(ports, "_GIVEN_OUT", tmp_path / "absent")
    assert ports.ports_below_the_kernels() == (1024, 65_535)
    assert ports.free_port("127.0.0.1") >= 1024


def test_a_range_of_the_operator_is_kept_to() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        (only,) = taken.getsockname()[1:]
        with pytest.raises(ports.NoFreePort, match=f"between {only} and {only} is free"):
            ports.free_port("127.0.0.1", ports.PortRange(only, only))


@pytest.mark.parametrize("text", ["20000", "80-90", "3000-2000", "1024-65536", "a-b", "-"])
def test_what_is_no_range_is_refused_in_its_own_words(text: str) -> None:
    with pytest.raises(ValueError, match=f"`{text}` is no range of ports"):
        ports.read_ports(text)
