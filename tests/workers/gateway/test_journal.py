"""The usage journal on disk, and how it is shipped."""

import asyncio
import json
import resource
from datetime import UTC, datetime, timedelta

import pytest

from tests.manual_clock import ManualClock
from workers.gateway.control_plane import BatchRefused, ControlPlaneAway, Credential
from workers.gateway.journal import Journal, close_interrupted, segments_in
from workers.gateway.shipping import Shipper, next_batch

CREDENTIAL = Credential(gateway_id="gateway1", secret="secret")


def line(number: int, state: str = "closed", **more: object) -> bytes:
    record = {"request_id": f"{number:032x}", "state": state, "status": 200} | more
    return json.dumps(record, separators=(",", ":")).encode() + b"\n"


def records(directory) -> list[dict]:
    lines = [
        row for segment in segments_in(directory) for row in segment.path.read_text().splitlines()
    ]
    return [json.loads(row) for row in lines]


class Ledger:
    """A control plane that commits like the real one: rows and offset together."""

    def __init__(self) -> None:
        self.committed: dict[str, int] = {}
        self.rows: list[dict] = []
        self.loses_answers = False

    async def send_usage(self, batch: bytes, credential: Credential) -> int:
        try:
            body = json.loads(batch)
        except (ValueError, RecursionError):
            raise BatchRefused("usage answered 400") from None
        committed = self.committed.setdefault(body["journal"], 0)
        if body["from_offset"] == committed:
            self.rows += body["records"]
            self.committed[body["journal"]] = body["to_offset"]
        if self.loses_answers:
            raise ControlPlaneAway("usage: ReadTimeout")
        return self.committed[body["journal"]]


def test_what_was_flushed_is_on_disk_whole_and_private(tmp_path):
    journal = Journal(tmp_path / "journal")
    assert journal.append(line(1)) is True
    assert journal.append(line(2)) is False
    journal.flush()

    assert [record["request_id"][-1] for record in records(tmp_path / "journal")] == ["1", "2"]
    assert journal.size_bytes == journal.segment.path.stat().st_size
    assert journal.segment.path.stat().st_mode & 0o777 == 0o600
    journal.close()


def test_requests_that_a_dead_process_left_open_are_closed_as_interrupted(tmp_path):
    journal = Journal(tmp_path)
    journal.append(line(1, "open", status=None))
    journal.append(line(2, "open", status=None))
    journal.append(line(1, "closed"))
    journal.append(line(2, "running", duration_seconds=1.5))
    journal.close()

    close_interrupted(tmp_path)

    last = records(tmp_path)[-1]
    assert last["request_id"].endswith("2")
    assert (last["state"], last["status"], last["duration_seconds"]) == ("closed", None, 1.5)
    assert len(records(tmp_path)) == 5
    close_interrupted(tmp_path)
    assert len(records(tmp_path)) == 5


def test_a_request_that_ended_after_the_clock_was_set_back_is_told_once(tmp_path):
    now = datetime(2026, 11, 1, 12, tzinfo=UTC)
    journal = Journal(tmp_path, clock=ManualClock(now + timedelta(days=40)))
    journal.append(line(1, "open", status=None))
    journal._clock = ManualClock(now)
    journal.rotate([line(1, "running", status=None)])
    journal.append(line(1, "closed"))
    journal.close()

    close_interrupted(tmp_path)
    assert [each["state"] for each in records(tmp_path)] == ["open", "running", "closed"]
    after = Journal(tmp_path, clock=ManualClock(now))
    after.append(line(2))
    after.close()
    assert records(tmp_path)[-1]["request_id"].endswith("2")


def test_a_line_that_was_cut_off_is_removed(tmp_path):
    journal = Journal(tmp_path)
    journal.append(line(1))
    journal.append(line(2)[:40])
    journal.close()

    close_interrupted(tmp_path)

    assert [record["request_id"][-1] for record in records(tmp_path)] == ["1"]


def test_records_wait_while_the_disk_takes_none(tmp_path):
    journal = Journal(tmp_path)
    journal.append(line(1))
    journal.flush()
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    journal.append(line(2))
    resource.setrlimit(resource.RLIMIT_FSIZE, (journal.size_bytes + 10, before[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            journal.flush()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert [record["request_id"][-1] for record in records(tmp_path)] == ["1"]

    journal.append(line(3))
    journal.flush()

    assert [record["request_id"][-1] for record in records(tmp_path)] == ["1", "2", "3"]
    journal.close()


def test_empty_segments_leave_nothing_behind(tmp_path):
    Journal(tmp_path).close()

    assert close_interrupted(tmp_path) == []
    assert list(tmp_path.iterdir()) == []


def test_a_request_that_outlives_its_segment_is_known_to_the_next(tmp_path):
    journal = Journal(tmp_path)
    journal.append(line(1, "open"))
    ended = journal.rotate([line(1, "running")])
    journal.append(line(2))
    journal.close()
    ended.path.unlink()  # shipped, so gone before the crash

    close_interrupted(tmp_path)

    assert [(r["request_id"][-1], r["state"]) for r in records(tmp_path)] == [
        ("1", "running"), ("2", "closed"), ("1", "closed")
    ]  # fmt: skip


def test_a_batch_holds_the_newest_state_of_each_request_and_whole_lines_only(tmp_path):
    journal = Journal(tmp_path)
    journal.append(line(1, "open"))
    journal.append(line(1, "running"))
    journal.append(line(2, "open"))
    journal.append(line(1, "closed"))
    journal.append(b'{"request_id":"cut')
    journal.flush()

    batch = next_batch(journal.segment, 0)

    body = json.loads(batch.body)
    assert body["journal"] == journal.segment.id
    assert [r["state"] for r in body["records"]] == ["closed", "open"]
    assert (body["from_offset"], body["to_offset"]) == (0, journal.size_bytes - 18)
    assert next_batch(journal.segment, batch.to_offset) is None
    journal.close()


@pytest.mark.parametrize(
    "harmed", [b"\0" * 60, b'{"request_id":"0', b"\xff\xfe", b'"\xc3', b"[" * 100_000, b"}]}"]
)
def test_a_line_that_a_disk_has_harmed_goes_as_text_and_holds_nothing_up(tmp_path, harmed):
    journal, ledger = Journal(tmp_path), Ledger()
    for each in (line(1), harmed + b"\n", line(2)):
        journal.append(each)
    journal.flush()

    close_interrupted(tmp_path)
    asyncio.run(Shipper(ledger).ship(journal.segment, CREDENTIAL))

    assert [row["request_id"][-1] for row in ledger.rows if isinstance(row, dict)] == ["1", "2"]
    assert [row for row in ledger.rows if isinstance(row, str)] == [harmed[:200].decode("latin-1")]
    assert ledger.committed[journal.segment.id] == journal.size_bytes
    journal.close()


def test_a_segment_is_deleted_only_when_it_is_committed_whole(tmp_path):
    journal, ledger = Journal(tmp_path), Ledger()
    shipper = Shipper(ledger)
    journal.append(line(1))
    shipper.add(journal.rotate([]))
    ended = segments_in(tmp_path)[0]

    ledger.loses_answers = True
    with pytest.raises(ControlPlaneAway):
        asyncio.run(shipper.ship(journal.segment, CREDENTIAL))
    assert ended.path.exists()

    ledger.loses_answers = False
    asyncio.run(shipper.ship(journal.segment, CREDENTIAL))
    assert not ended.path.exists()
    assert [row["request_id"][-1] for row in ledger.rows] == ["1"]
    journal.close()


def test_a_lost_answer_never_counts_a_request_twice_nor_loses_one(tmp_path):
    journal, ledger = Journal(tmp_path), Ledger()
    for number in range(20):
        journal.append(line(number))
        journal.flush()
        ledger.loses_answers = number % 3 == 0
        try:
            # A new shipper each time: what a restarted process knows.
            asyncio.run(Shipper(ledger).ship(journal.segment, CREDENTIAL))
        except ControlPlaneAway:
            continue
    ledger.loses_answers = False
    asyncio.run(Shipper(ledger).ship(journal.segment, CREDENTIAL))

    assert [int(row["request_id"], 16) for row in ledger.rows] == list(range(20))
    journal.close()


def test_a_control_plane_that_commits_nothing_is_not_asked_in_circles(tmp_path):
    class Stuck(Ledger):
        async def send_usage(self, batch: bytes, credential: Credential) -> int:
            return 0

    journal = Journal(tmp_path)
    journal.append(line(1))
    journal.flush()

    with pytest.raises(ControlPlaneAway, match="was not committed"):
        asyncio.run(Shipper(Stuck()).ship(journal.segment, CREDENTIAL))
    journal.close()
