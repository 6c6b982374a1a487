"""A port for an engine is nobody's until the engine listens on it."""

import socket
from pathlib import Path

import pytest

from workers.runtimes import ports


def test_an_engine_gets_a_port_that_the_kernel_gives_to_nobody() -> None:
    first_given_out = int(ports._GIVEN_OUT.read_text().split()[0])
    if first_given_out <= ports._LOWEST:
        pytest.skip("the kernel of this machine gives out those ports too")
    assert ports._LOWEST <= ports.free_port("127.0.0.1") < first_given_out


def test_a_taken_port_is_passed_over(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        (only,) = taken.getsockname()[1:]
        (tmp_path / "given_out").write_text(f"{only + 1}\t60999\n")
        monkeypatch.setattr(ports, "_GIVEN_OUT", tmp_path / "given_out")
        monkeypatch.setattr(ports, "_LOWEST", only)
        assert ports.free_port("127.0.0.1") != only


def test_where_the_kernel_gives_out_all_ports_it_chooses(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(ports, "_GIVEN_OUT", tmp_path / "absent")
    assert ports.free_port("127.0.0.1") > 0
