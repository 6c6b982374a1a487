"""A history keeps the newest documents apart from one another, and survives on disk."""

import os
from pathlib import Path

import pytest

from workers.lookahead.drafter import Drafter
from workers.lookahead.history import HistoryUnreadableError, SharedHistory
from workers.lookahead.rules import DraftRule

RULE = DraftRule.documented(8)


def _draft(history: SharedHistory, tokens: list[int]) -> list[int]:
    return Drafter(RULE, history).propose("a", tokens, 8)


def test_no_draft_goes_from_one_document_to_the_next() -> None:
    history = SharedHistory.empty(1000)
    history.add([1, 2, 3, 4, 5])
    history.add([6, 7, 8, 9])
    assert _draft(history, [2, 3, 4]) == [5]
    assert _draft(history, [3, 4, 5]) == []
    assert _draft(history, [4, 5, 6]) == []


def test_the_oldest_tokens_make_room() -> None:
    history = SharedHistory.empty(64)
    history.add(range(1000, 1040))
    history.add(range(2000, 2040))
    assert _draft(history, [1000, 1001, 1002]) == []
    assert _draft(history, [2000, 2001, 2002]) == [2003, 2004, 2005]
    assert len(history.index) == 64


def test_a_saved_history_drafts_as_before(tmp_path: Path) -> None:
    history = SharedHistory.empty(500)
    for start in range(0, 3000, 100):
        history.add(range(start, start + 100))
    history.save(tmp_path / "history")
    for mapped in (False, True):
        again = SharedHistory.load(tmp_path / "history", mapped=mapped)
        assert _draft(again, [2910, 2911, 2912]) == [2913, 2914, 2915]
        again.add(range(9000, 9050))
        assert _draft(again, [9000, 9001, 9002]) == [9003, 9004, 9005]
    assert _draft(history, [9000, 9001, 9002]) == []


def test_a_later_save_takes_the_place_of_the_one_before(tmp_path: Path) -> None:
    history = SharedHistory.empty(500)
    history.save(tmp_path / "history")
    history.add(range(50))
    history.save(tmp_path / "history")
    assert _draft(SharedHistory.load(tmp_path / "history"), [3, 4, 5]) == [6, 7, 8]
    assert [each.name for each in tmp_path.iterdir()] == ["history"]


@pytest.mark.parametrize("write", [b"", b"another file", b"\x93NUMPY"])
def test_what_is_no_history_is_refused_by_its_name(tmp_path: Path, write: bytes) -> None:
    file = tmp_path / "history"
    file.write_bytes(write)
    with pytest.raises(HistoryUnreadableError, match=f"{file} holds no history"):
        SharedHistory.load(file)
    with pytest.raises(HistoryUnreadableError, match="nowhere"):
        SharedHistory.load(tmp_path / "nowhere")


@pytest.mark.parametrize("mapped", [False, True])
@pytest.mark.parametrize("kept", [20, 500, -4])
def test_one_that_is_cut_short_is_refused(tmp_path: Path, kept: int, *, mapped: bool) -> None:
    file = tmp_path / "history"
    SharedHistory.empty(500).save(file)
    file.write_bytes(file.read_bytes()[:kept])
    with pytest.raises(HistoryUnreadableError, match=str(file)):
        SharedHistory.load(file, mapped=mapped)


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_save_that_is_interrupted_leaves_the_one_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    file, history = tmp_path / "history", SharedHistory.empty(500)
    history.add(range(50))
    history.save(file)
    before = file.read_bytes()
    history.add(range(100, 150))

    def interrupted(*_: object) -> None:
        raise OSError("no space left")

    where = os if call == "fsync" else Path
    monkeypatch.setattr(where, call, interrupted)
    with pytest.raises(OSError, match="no space left"):
        history.save(file)
    assert file.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == ["history"]


def test_ten_million_tokens_take_under_sixteen_bytes_each() -> None:
    history = SharedHistory.empty(10_000_000)
    assert history.index.size_bytes <= 16 * 10_000_000
