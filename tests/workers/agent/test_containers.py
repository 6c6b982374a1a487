"""The removal of a replica's container while Docker is away."""

import sys
from pathlib import Path

import pytest

from tests.workers.agent.stage import until
from workers.agent import containers
from workers.agent.containers import Removal
from workers.agent.folders import ReplicaFolder

ASKED = """
import sys, pathlib
asked = pathlib.Path(sys.argv[1])
asked.write_text(asked.read_text() + "once\\n" if asked.exists() else "once\\n")
sys.exit(asked.read_text().count("once") < 2)
"""


def test_docker_is_asked_again_after_a_pause_and_once_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, asked = ReplicaFolder(path=tmp_path / "abcde.1"), tmp_path / "asked"
    folder.path.mkdir()
    folder.write("launch", {"remove": [sys.executable, "-c", ASKED, str(asked)]})
    monkeypatch.setattr(containers, "_PAUSE_SECONDS", 3600)
    removal = Removal(folder, {})
    assert not removal.is_done()
    first = removal._process
    assert first is not None
    first.wait()
    assert not removal.is_done(), "Docker did not answer"
    assert not removal.is_done()
    assert removal._process is None, "within the pause nobody is asked"
    removal._not_before = 0.0
    until(removal.is_done, 60, "the removal")
    assert asked.read_text() == "once\nonce\n"
