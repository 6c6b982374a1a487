import json
import os

from tests.manual_clock import ManualClock
from workers.build_steps.events import Events


def test_progress_in_quick_succession_is_thinned_out_and_the_last_always_goes_out() -> None:
    clock = ManualClock()
    read_end, write_end = os.pipe()
    events = Events(write_end, clock=clock)
    for done in (1, 2, 3):
        events.progress(done, 9, "files")
    clock.advance(0.25)
    for done in (4, 5, 9):
        events.progress(done, 9, "files")
    os.close(write_end)
    with os.fdopen(read_end) as fdopen:
        assert [json.loads(line)["done"] for line in fdopen] == [1, 4, 9]
