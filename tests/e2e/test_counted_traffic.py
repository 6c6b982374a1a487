"""Ten minutes of counted traffic to real engines, through every change: 0 lost, 0 doubled.

200 questions a second where the machine bears it.
"""

import os
from pathlib import Path

import pytest

from benchmarks.counted_traffic import LONG_EACH_SECOND, LONG_REPLICAS, LONG_SECONDS, measured

_CORES_FOR_ALL = 16
"""On so many the 200 a second are carried beside engines that start (`benchmarks/README.md`)."""
_OF_CARRIED = None if len(os.sched_getaffinity(0)) >= _CORES_FOR_ALL else 0.4
"""On fewer: an engine that starts takes a core for seconds."""
pytestmark = [pytest.mark.e2e, pytest.mark.long]


def test_no_request_is_lost_or_doubled_in_ten_minutes_of_every_change(tmp_path: Path) -> None:
    measurement = measured(
        tmp_path, seconds=LONG_SECONDS, each_second=LONG_EACH_SECOND, most_replicas=LONG_REPLICAS,
        of_carried=_OF_CARRIED,
    )  # fmt: skip
    assert measurement["lost_by_outcome"] == {}
    assert (measurement["requests_counted_otherwise"], measurement["tokens_counted_otherwise"]) == (
        0,
        0,
    )
    assert all(many > 0 for many in measurement["changes"].values())
    assert len(measurement["changes"]) == 9, "every kind of change was made"
