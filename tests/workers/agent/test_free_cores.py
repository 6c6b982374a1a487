"""An engine gets as many threads as its host's process may really use."""

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from workers.agent.settings import free_cores

QUOTA, PERIOD = "cpu/cpu.cfs_quota_us", "cpu/cpu.cfs_period_us"


@pytest.mark.parametrize(
    ("files", "cores"),
    [
        ({}, 6),
        ({"cpu.max": "max 100000\n"}, 6),
        ({"cpu.max": "250000 100000\n"}, 2),
        ({"cpu.max": "50000 100000\n"}, 1),
        ({"cpu.max": "900000 100000\n"}, 6),
        ({QUOTA: "-1\n", PERIOD: "100000\n"}, 6),
        ({QUOTA: "300000\n", PERIOD: "100000\n"}, 3),
        ({"cpu.max": "nonsense"}, 6),
    ],
)
def test_the_quota_of_the_control_group_bounds_the_affinity(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: Mapping[str, str], cores: int
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(6)))
    (tmp_path / "cpu").mkdir()
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    assert free_cores(tmp_path) == cores
