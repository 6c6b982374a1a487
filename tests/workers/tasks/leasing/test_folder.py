"""A folder for a lease, and what killed workers left beside it."""

import os
from pathlib import Path

import pytest
from pytest_django import Settings

from controlplane.clock import SYSTEM
from tests.apps.leases.work import Work
from workers.tasks.leasing import lease_folder

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("broker")]
DAYS_AGO = SYSTEM.time() - 5 * 86_400


def test_what_killed_workers_left_goes_and_what_a_worker_is_in_stays_however_old(
    settings: Settings, tmp_path: Path
) -> None:
    settings.DATA_DIR = tmp_path
    work, other = Work("push"), Work("push")
    lease, live = work.claim(), other.claim()
    names = {
        "live": f"{live.id}.{live.token}", "earlier": f"{live.id}.{live.token - 1}",
        "unknown": "abcdefgh.1", "strange": "lost+found",
    }  # fmt: skip
    for name in names.values():
        (tmp_path / "pushes" / name).mkdir(parents=True)
        os.utime(tmp_path / "pushes" / name, (DAYS_AGO, DAYS_AGO))
    (tmp_path / "pushes" / "abcdefgh.2").mkdir()
    # By the clock that it is held against: what a file system says is another's.
    os.utime(tmp_path / "pushes" / "abcdefgh.2", (SYSTEM.time(), SYSTEM.time()))
    with lease_folder(lease, under="pushes") as folder:
        there = {each.name for each in folder.parent.iterdir()}
        assert there == {folder.name, names["live"], "abcdefgh.2"}
    assert not folder.exists()
