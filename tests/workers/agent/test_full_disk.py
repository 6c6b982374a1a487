"""A full disk under an agent ends nothing that serves, is told, and is over when there is room."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.small_disks import small_disk
from tests.workers.agent.one_agent import OneAgent, runner_of
from workers.agent import inventory
from workers.agent.capped_log import CappedLog
from workers.agent.identity import is_alive


class Disk:
    """A small one, to be filled up and emptied."""

    def __init__(self, folder: Path) -> None:
        self._ballast = folder / "ballast"

    def fill(self) -> None:
        with self._ballast.open("ab", buffering=0) as ballast:
            for piece in (100_000, 4096, 1):
                with suppress(OSError):
                    while True:
                        ballast.write(b"x" * piece)

    def empty(self) -> None:
        self._ballast.unlink()


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    with small_disk(tmp_path / "disk", size="4m"):
        yield Disk(tmp_path / "disk")


@pytest.fixture
def one(disk: Disk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> OneAgent:
    monkeypatch.setattr(inventory, "devices", lambda name: [])
    return OneAgent(tmp_path / "disk")


def test_it_goes_on_with_what_runs_and_says_how_much_room_is_left(
    one: OneAgent, disk: Disk, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    folder = one.leave_behind("aaaaa")
    with runner_of(folder):
        one.run(20, {5: disk.fill, 14: disk.empty})
        runner = folder.runner()
        assert runner is not None
        assert is_alive(runner)
    assert one.plane.asked_at == [0, 3, 6, 9, 12, 15, 18]
    assert set(one.plane.states()) == {"starting"}
    free = [report["disk_free_bytes"] for report in one.plane.told]
    assert free[1] > 1024 * 1024 > free[3] == 0
    assert free[-1] > 1024 * 1024
    assert caplog.text.count("takes nothing, engines go on") == 1
    assert caplog.text.count("has room again") == 1


def test_what_is_to_stop_stops(one: OneAgent, disk: Disk) -> None:
    folder = one.leave_behind("aaaaa")

    def stop() -> None:
        one.plane.wanted = [{**each, "wanted": "stopped"} for each in one.plane.wanted]

    with runner_of(folder):
        one.run(20, {3: disk.fill, 5: stop})
    assert one.plane.states()[-1] == "stopped"
    disk.empty()
    one.agent._look()
    assert (folder.path / "exit.json").exists()


def test_what_is_to_start_fails_with_the_reason(one: OneAgent, disk: Disk) -> None:
    order = {
        "id": "aaaaa",
        "generation": 1,
        "runtime": "native",
        "wanted": "running",
        "devices": [],
    }
    disk.fill()
    one.plane.wanted = [order]
    one.run(15, {7: one.plane.wanted.clear})
    (report,) = one.plane.told[2]["replicas"]
    assert (report["state"], report["failure"]["code"]) == ("failed", "EHN-DISK-FULL")
    assert "the disk that holds" in report["failure"]["sentence"].lower()
    assert one.plane.told[-1]["replicas"] == []


def test_a_log_goes_on_and_no_piece_goes_twice(one: OneAgent, disk: Disk) -> None:
    folder = one.leave_behind("aaaaa")
    log = CappedLog(folder.log)
    with runner_of(folder):
        log.write(b"one\n")

        def write_and_fill() -> None:
            log.write(b"two\n")
            disk.fill()

        def empty_and_write() -> None:
            disk.empty()
            log.write(b"three\n")

        one.run(20, {3: write_and_fill, 10: empty_and_write})
    assert one.plane.log == "one\ntwo\nthree\n"
