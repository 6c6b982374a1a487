"""Every line arrives once, whatever becomes of an answer or of the file."""

from pathlib import Path

import pytest

from workers.agent import log_shipping
from workers.agent.capped_log import CappedLog
from workers.agent.control_plane import ControlPlaneAway
from workers.agent.folders import ReplicaFolder, replica_folder
from workers.agent.log_shipping import ship_log


class Receiver:
    """Keeps what it is handed once, and may lose its answers."""

    def __init__(self) -> None:
        self.pieces: dict[int, str] = {}
        self.loses_answers = False

    def ship_log(self, *, replica_id: str, attempt: int, sequence: int, text: str) -> None:
        self.pieces.setdefault(sequence, text)
        if self.loses_answers:
            raise ControlPlaneAway("lost")

    def observe(self, observation: object) -> dict[str, object]:
        raise AssertionError("not asked for")

    @property
    def text(self) -> str:
        return "".join(self.pieces[sequence] for sequence in sorted(self.pieces))


@pytest.fixture
def folder(tmp_path: Path) -> ReplicaFolder:
    made = replica_folder(tmp_path, "aaaaa", 1)
    made.path.mkdir()
    return made


def test_whole_lines_go_and_the_rest_follows_at_the_end(folder: ReplicaFolder) -> None:
    receiver = Receiver()
    CappedLog(folder.log).write(b"one\ntwo\nthr")
    assert ship_log(folder, receiver, is_over=False)
    assert receiver.text == "one\ntwo\n"
    assert not ship_log(folder, receiver, is_over=False)
    assert ship_log(folder, receiver, is_over=True)
    assert receiver.text == "one\ntwo\nthr"


def test_a_piece_whose_answer_was_lost_goes_again_as_it_was(folder: ReplicaFolder) -> None:
    receiver = Receiver()
    log = CappedLog(folder.log)
    log.write(b"one\n")
    receiver.loses_answers = True
    with pytest.raises(ControlPlaneAway):
        ship_log(folder, receiver, is_over=False)
    log.write(b"two\n")
    receiver.loses_answers = False
    while ship_log(folder, receiver, is_over=False):
        pass
    assert receiver.text == "one\ntwo\n"


def test_what_was_set_aside_is_read_to_its_end_first(folder: ReplicaFolder) -> None:
    receiver = Receiver()
    log = CappedLog(folder.log, cap_bytes=12)
    log.write(b"first\n")
    ship_log(folder, receiver, is_over=False)
    log.write(b"second\n")  # past the cap: the file turns
    log.write(b"third\n")
    while ship_log(folder, receiver, is_over=False):
        pass
    assert receiver.text == "first\nsecond\nthird\n"
    assert (folder.path / "engine.log.1").exists()


@pytest.mark.parametrize("looks", [1, 2])
def test_a_turn_under_the_look_loses_nothing(
    folder: ReplicaFolder, monkeypatch: pytest.MonkeyPatch, looks: int
) -> None:
    receiver, outcome, log = Receiver(), log_shipping._inode, CappedLog(folder.log, cap_bytes=16)
    looked: list[Path] = []

    def inode(path: Path) -> int | None:
        before = outcome(path)
        looked.append(path)
        if len(looked) == looks:
            log.write(b"third\n")  # past the cap: the file turns
            log.write(b"fourth\n")
        return before

    log.write(b"first\n")
    ship_log(folder, receiver, is_over=False)
    log.write(b"second\n")
    monkeypatch.setattr(log_shipping, "_inode", inode)
    while receiver.text.count("\n") < 4 and len(looked) < 100:
        ship_log(folder, receiver, is_over=False)
    assert receiver.text == "first\nsecond\nthird\nfourth\n"
