"""The removal of a replica's container while Docker is away."""

import sys
from pathlib import Path

from tests.manual_clock import ManualClock
from tests.waiting import wait_for
from workers.agent.containers import _PAUSE_SECONDS, Removal
from workers.agent.folders import ReplicaFolder

ASKED = """
import sys, pathlib
asked = pathlib.Path(sys.argv[1])
asked.write_text(asked.read_text() + "once\\n" if asked.exists() else "once\\n")
sys.exit(asked.read_text().count("once") < 2)
"""


def test_docker_is_asked_again_after_a_pause_and_once_at_a_time(tmp_path: Path) -> None:
    clock = ManualClock()
    folder, request = ReplicaFolder(path=tmp_path / "abcde.1"), tmp_path / "asked"
    folder.path.mkdir()
    folder.write("launch", {"remove": [sys.executable, "-c", ASKED, str(request)]})
    removal = Removal(folder, {}, clock=clock)
    assert not removal.is_done()
    first = removal._process
    assert first is not None
    first.wait()
    assert not removal.is_done(), "Docker did not answer"
    assert not removal.is_done()
    assert removal._process is None, "within the pause nobody is asked"
    clock.advance(_PAUSE_SECONDS)
    wait_for(removal.is_done, what="the removal")
    assert request.read_text() == "once\nonce\n"
