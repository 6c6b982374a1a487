"""The embedded Valkey: durable, behind a password, in any folder."""

import stat
import subprocess
from contextlib import closing
from pathlib import Path

import pytest
import redis

from controlplane.processes import ports, valkey
from tests.manual_clock import ManualClock
from tests.waiting import DEADLINE_SECONDS


def test_a_folder_with_blanks_and_quotes_in_its_name_is_fine(tmp_path: Path) -> None:
    folder = tmp_path / 'my "own" code'
    kept = ports.reserved()
    valkey.initialise(folder, port=ports.port_of(kept))
    url = valkey.url(folder, port=ports.port_of(kept))
    argv = valkey.command(folder).argv
    with closing(kept), subprocess.Popen(argv, stdout=subprocess.DEVNULL) as server:
        try:
            valkey.wait_until_ready(url, timeout_seconds=DEADLINE_SECONDS)
            with redis.from_url(url) as client:
                assert client.config_get("appendonly") == {"appendonly": "yes"}
                assert client.config_get("maxmemory-policy") == {"maxmemory-policy": "noeviction"}
        finally:
            server.terminate()
    assert (folder / "appendonlydir").is_dir()


def test_the_password_is_kept_and_readable_by_the_owner_alone(tmp_path: Path) -> None:
    first = valkey.url(tmp_path, port=1)
    assert valkey.url(tmp_path, port=1) == first
    assert stat.S_IMODE((tmp_path / "password").stat().st_mode) == 0o600


def test_a_server_that_does_not_answer_is_said(tmp_path: Path) -> None:
    with closing(ports.reserved()) as kept:
        url, clock = (
            valkey.url(tmp_path, port=ports.port_of(kept)),
            ManualClock(sleeping_moves_it=True),
        )
        with pytest.raises(TimeoutError, match="Valkey did not answer"):
            valkey.wait_until_ready(url, timeout_seconds=30, clock=clock)
    assert sum(clock.slept) == pytest.approx(30, abs=0.1)
