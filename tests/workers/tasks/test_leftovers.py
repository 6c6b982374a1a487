"""What dead workers left on a host is found: processes, drafts, folders."""

import shutil
import subprocess
from pathlib import Path

import pytest
from pytest_django import Settings

from apps.builds.leasing import BUILD
from apps.builds.services.claims import build_claim
from apps.leases.lease import Lease
from tests import factories
from tests.waiting import wait_for
from workers.build_steps.environment import child_environment
from workers.tasks.building.folders import BuildFolder, is_kept, prune_folders
from workers.tasks.building.leftovers import reap_dead
from workers.tasks.leasing.owner import process_owner

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("broker")]


@pytest.fixture(autouse=True)
def _leases_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a lease end by what a test does, and not because the machine is slow."""
    monkeypatch.setattr("apps.leases.services.LEASE_SECONDS", 3600.0)


@pytest.fixture
def lease() -> Lease:
    claimed = build_claim(build_id=factories.make_build().id, owner=process_owner("here"))
    assert claimed is not None
    return claimed


def test_a_process_of_a_dead_lease_is_killed_and_that_of_a_live_one_is_not(
    lease: Lease, data_dir: Path
) -> None:
    def start(marker: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(["sleep", "60"], env=child_environment(marker, str(data_dir), {}))

    live, dead = start(lease.marker), start(f"build/{lease.id}/0")
    unknown = start("build/elsewher/1")
    try:
        wait_for(lambda: (reap_dead(), dead.poll())[1] is not None, what="the kill")
        assert (live.poll(), unknown.poll()) == (None, None)
    finally:
        for process in (live, dead, unknown):
            process.kill()
            process.wait()


def test_a_new_holder_removes_the_drafts_of_earlier_ones(lease: Lease) -> None:
    folder = BuildFolder(lease)
    later = BuildFolder(Lease(kind=BUILD, id=lease.id, token=lease.token + 1, secret="x"))
    for each in (folder.draft("fetch"), later.draft("fetch"), folder.published("fetch")):
        each.mkdir(parents=True)
    for each in (folder, later):
        each.job("fetch").write_text("{}")
    folder.prepare()
    assert not folder.job("fetch").exists()
    assert later.job("fetch").exists()
    assert not folder.draft("fetch").exists()
    assert later.draft("fetch").exists()
    assert folder.published("fetch").exists()
    prune_folders(lambda build_id, _age: build_id != lease.id)
    assert not folder.published("fetch").exists()


def test_a_folder_that_another_worker_removes_meanwhile_is_passed_over(
    tmp_path: Path, settings: Settings
) -> None:
    settings.DATA_DIR = tmp_path
    folders = [tmp_path / "builds" / name for name in ("elsewher", "gonelong")]
    for each in folders:
        each.mkdir(parents=True)

    def is_wanted_by_nobody(_build_id: str, _age: float) -> bool:
        for each in folders:
            shutil.rmtree(each, ignore_errors=True)
        return False

    assert prune_folders(is_wanted_by_nobody) == 1


@pytest.mark.parametrize(
    ("state", "age_seconds", "kept"),
    [
        ("succeeded", 0, False),
        ("failed", 3600, True),
        ("failed", 4 * 24 * 3600, False),
        ("fetching", 30 * 24 * 3600, True),
        ("queued", 30 * 24 * 3600, True),
        (None, 3600, True),
        (None, 4 * 24 * 3600, False),
    ],
)
def test_folders_of_failed_builds_are_kept_for_three_days(
    state: str | None, age_seconds: float, kept: bool
) -> None:
    assert is_kept(state, age_seconds) is kept
