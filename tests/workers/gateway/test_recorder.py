"""Segments of the journal end when they are old, by the clock that their recorder was given."""

import asyncio
from pathlib import Path
from unittest.mock import Mock

from tests.manual_clock import ManualClock
from workers.gateway.control_plane import ControlPlane
from workers.gateway.journal import Journal, segments_in
from workers.gateway.recorder import Recorder
from workers.gateway.shipping import Shipper

LINE = b'{"request_id":"00000000000000000000000000000001","state":"%s"}\n'


def test_a_segment_ends_after_five_minutes_and_what_runs_is_told_again(tmp_path: Path) -> None:
    async def segments() -> list[list[bytes]]:
        clock = ManualClock()
        journal = Journal(tmp_path, clock=clock)
        recorder = Recorder(journal, Shipper(Mock(spec=ControlPlane)), clock=clock)
        recorder.record(LINE % b"open")
        for seconds in (0, 300, 1, 300):
            clock.advance(seconds)
            await recorder.keep(lambda: [LINE % b"running"])
        journal.close()
        return [each.path.read_bytes().splitlines(keepends=True) for each in segments_in(tmp_path)]

    assert asyncio.run(segments()) == [[LINE % b"open"], [LINE % b"running"]]
