"""A lease is kept, given up in time, and its host cleaned."""

import shutil
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.db import OperationalError
from pytest_django import Settings

from apps.builds.leasing import BUILD
from apps.builds.models import Build
from apps.builds.services import build_cancel, build_claim
from apps.leases.lease import Lease
from apps.leases.services import leases_expire
from tests import factories
from tests.processes import wait_for
from tests.timing import quickest
from workers.build_steps.environment import child_environment
from workers.tasks.building.folders import BuildFolder, is_kept, prune_folders
from workers.tasks.building.leftovers import reap_dead
from workers.tasks.leasing import Interrupted, LeaseKeeper, Standing, insist
from workers.tasks.leasing import keeper as keeper_module
from workers.tasks.leasing.owner import dead_owners, process_owner

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("broker")]


def claim() -> Lease:
    claimed = build_claim(build_id=factories.make_build().id, owner=process_owner("here"))
    assert claimed is not None
    return claimed


@pytest.fixture
def lease() -> Lease:
    return claim()


@pytest.fixture
def stopping() -> threading.Event:
    return threading.Event()


@pytest.fixture
def keeper(lease: Lease, stopping: threading.Event) -> Iterator[LeaseKeeper]:
    with LeaseKeeper(lease, stopping=stopping) as kept:
        yield kept


def wait_for_standing(keeper: LeaseKeeper, standing: Standing) -> None:
    wait_for(lambda: keeper.standing is standing, seconds=60, what=lambda: keeper.standing)


def test_a_kept_lease_is_renewed(keeper: LeaseKeeper, lease: Lease) -> None:
    first = Build.objects.get(id=lease.id).lease_expires_at
    wait_for(
        lambda: Build.objects.get(id=lease.id).lease_expires_at != first,
        seconds=60,
        what="a renewal",
    )
    assert keeper.standing is Standing.HELD


def test_a_cancel_is_seen_within_two_seconds(stopping: threading.Event) -> None:
    def seconds_until_seen() -> float:
        lease = claim()
        with LeaseKeeper(lease, stopping=stopping) as keeper:
            build_cancel(build=Build.objects.get(id=lease.id))
            asked_at = time.monotonic()
            wait_for_standing(keeper, Standing.CANCEL)
            seconds = time.monotonic() - asked_at
            with pytest.raises(Interrupted):
                keeper.check()
        return seconds

    assert quickest(seconds_until_seen, enough=2) < 2


def test_a_lease_that_was_taken_is_lost_for_good(keeper: LeaseKeeper, lease: Lease) -> None:
    leases_expire(owners=[Build.objects.get(id=lease.id).lease_owner])
    wait_for_standing(keeper, Standing.LOST)
    with pytest.raises(Interrupted):
        insist(keeper, lambda: None)


def test_a_worker_that_is_stopped_is_told(keeper: LeaseKeeper, stopping: threading.Event) -> None:
    stopping.set()
    assert keeper.standing is Standing.STOPPING


def test_a_database_that_stays_away_for_a_lease_loses_it(
    lease: Lease, stopping: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(**_named: object) -> None:
        raise OperationalError("away")

    monkeypatch.setattr(keeper_module, "lease_check", away)
    monkeypatch.setattr(keeper_module, "lease_renew", away)
    monkeypatch.setattr(keeper_module, "LEASE_SECONDS", 600.0)
    with LeaseKeeper(lease, stopping=stopping) as keeper:
        wait_for(lambda: not keeper.is_reachable, seconds=60, what="its first look")
        assert keeper.standing is Standing.HELD
        monkeypatch.setattr(keeper_module, "LEASE_SECONDS", 2.0)
        wait_for_standing(keeper, Standing.LOST)
        assert not keeper.is_reachable


def test_a_write_waits_for_a_database_that_comes_back(keeper: LeaseKeeper) -> None:
    answers = iter([OperationalError("away"), OperationalError("away"), None])

    def write() -> str:
        if (error := next(answers)) is not None:
            raise error
        return "written"

    assert insist(keeper, write) == "written"


def test_an_owner_is_dead_once_its_process_is(monkeypatch: pytest.MonkeyPatch) -> None:
    own = process_owner("here")
    other = subprocess.Popen(["sleep", "60"])
    with monkeypatch.context() as patched:
        patched.setattr("workers.tasks.leasing.owner.os.getpid", lambda: other.pid)
        others = process_owner("here")
    owners = [own, others, "elsewhere/0123456789abcdef/1/1", ""]
    assert dead_owners(owners) == []
    other.kill()
    # Dead, though nobody has asked for its exit status yet.
    wait_for(lambda: dead_owners(owners) == [others], seconds=60, what=lambda: owners)
    other.wait()


@pytest.mark.usefixtures("keeper")
def test_a_process_of_a_dead_lease_is_killed_and_that_of_a_live_one_is_not(
    lease: Lease, data_dir: Path
) -> None:
    def start(marker: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(["sleep", "60"], env=child_environment(marker, str(data_dir), {}))

    live, dead = start(lease.marker), start(f"build/{lease.id}/0")
    unknown = start("build/elsewher/1")
    try:
        wait_for(lambda: (reap_dead(), dead.poll())[1] is not None, seconds=60, what="the kill")
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
