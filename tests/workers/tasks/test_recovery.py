"""Whatever is killed, a build's state is true within 15 seconds, and it goes on or says why not."""

import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from apps.builds.models import Artifact, Build
from apps.builds.services import (
    LEASE_SECONDS,
    RENEW_SECONDS,
    build_cancel,
    build_retry,
    builds_expire_leases,
)
from apps.telemetry.logs import log_lines
from tests.processes import wait_for
from tests.workers.tasks.building import MakeBuild, steps
from tests.workers.tasks.hands import (
    CANCEL_SECONDS,
    TRUE_STATE_SECONDS,
    Sweeper,
    fresh,
    orphans,
    owner_pid,
    send,
    step_is,
    wait_for_build,
    wait_for_step,
)
from tests.workers.tasks.pair import Pair
from workers.build_steps.processes import process
from workers.build_steps.processes import send as signal_process

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.recovery, pytest.mark.engine]
STEPS = ("fetch", "inspect", "package", "smoke_test")


@pytest.fixture
def build(make_build: MakeBuild, pair: Pair) -> Iterator[Build]:
    """A build that the pair has been sent; ended afterwards."""
    made = send(make_build(pool=pair.pool))
    yield made
    if fresh(made).state not in ("succeeded", "failed", "cancelled"):
        build_cancel(build=fresh(made))
        wait_for_build(made, lambda each: each.finished_at, meanwhile=Sweeper())


def kill_process(pid: int) -> None:
    found = process(pid)
    assert found is not None
    signal_process(found, signal.SIGKILL)


def is_at_work(build: Build, step: str) -> bool:
    return bool(build.lease_owner) and step_is(build, step, "running")


def assert_nothing_left(build: Build, data_dir: Path) -> None:
    wait_for(lambda: not orphans(), seconds=CANCEL_SECONDS, what=lambda: f"no orphan: {orphans()}")
    assert not list((data_dir / "builds" / build.id).glob(".*")), "a draft was left"


def test_a_build_whose_worker_is_killed_in_every_step_goes_on_and_succeeds(
    build: Build, pair: Pair, data_dir: Path
) -> None:
    for step in STEPS:
        child = wait_for_step(build, step)
        pid = owner_pid(fresh(build))
        pair.take(pid).kill()
        wait_for(lambda gone=child: not process(gone), seconds=3, what="the child's end")
        wait_for_build(
            build,
            lambda each, late=pid, name=step: is_at_work(each, name) and owner_pid(each) != late,
            seconds=TRUE_STATE_SECONDS,
            meanwhile=Sweeper(),
        )
        before = STEPS[: STEPS.index(step)]
        assert {steps(build)[name] for name in before} <= {"finished"}
    ended = wait_for_build(build, lambda each: each.finished_at)
    assert (ended.state, ended.attempt, ended.failure) == ("succeeded", 1, None)
    assert Artifact.objects.count() == 1
    said = [line.message for line in log_lines(owners=[f"build:{build.id}:fetch"])]
    assert any("fetched and verified" in line for line in said)
    assert_nothing_left(build, data_dir)


def test_a_build_whose_child_is_killed_fails_with_that_cause_and_a_retry_goes_on(
    build: Build, data_dir: Path
) -> None:
    for number, step in enumerate(STEPS, start=1):
        kill_process(wait_for_step(build, step))
        ended = wait_for_build(
            build, lambda each: each.state == "failed", seconds=TRUE_STATE_SECONDS
        )
        assert ended.failure["code"] == "EHB-KILLED"
        assert step in ended.failure["sentence"]
        assert steps(build)[step] == "failed"
        assert_nothing_left(build, data_dir)
        assert build_retry(build=ended).attempt == number + 1
        wait_for_step(build, step)
        assert {steps(build)[name] for name in STEPS[: number - 1]} <= {"reused"}
    assert not Artifact.objects.exists()


def test_a_cancel_ends_every_step_within_five_seconds(build: Build, data_dir: Path) -> None:
    for step in STEPS:
        wait_for_step(build, step)
        asked_at = time.monotonic()
        build_cancel(build=fresh(build))
        ended = wait_for_build(build, lambda each: each.finished_at, seconds=CANCEL_SECONDS + 1)
        assert time.monotonic() - asked_at < CANCEL_SECONDS
        assert (ended.state, steps(build)[step]) == ("cancelled", "cancelled")
        assert_nothing_left(build, data_dir)
        assert not (data_dir / "builds" / build.id / step).exists()
        build_retry(build=ended)
    assert not Artifact.objects.exists()


def test_a_worker_that_is_stopped_gives_its_build_back_at_once(build: Build, pair: Pair) -> None:
    wait_for_step(build, "fetch")
    token, pid = fresh(build).lease_token, owner_pid(fresh(build))
    stopped_at = time.monotonic()
    worker = pair.take(pid)
    worker.send(signal.SIGTERM)
    # Nothing sweeps here: the worker itself sends the build again.
    wait_for_build(
        build,
        lambda each: each.lease_owner and owner_pid(each) != pid and each.lease_token > token,
        seconds=6,
    )
    assert time.monotonic() - stopped_at < 6
    wait_for(lambda: not worker.is_running, seconds=10, what=worker.log.read_text)
    assert "given back" in worker.log.read_text()


def test_a_worker_that_comes_back_too_late_is_refused_and_its_child_ended(
    build: Build, pair: Pair, data_dir: Path
) -> None:
    child = wait_for_step(build, "fetch")
    pid = owner_pid(fresh(build))
    worker = pair.take(pid)
    worker.send(signal.SIGSTOP)
    builds_expire_leases(owners=[fresh(build).lease_owner])
    sweep = Sweeper()
    taken = wait_for_build(
        build, lambda each: each.lease_owner and owner_pid(each) != pid, meanwhile=sweep
    )
    worker.send(signal.SIGCONT)
    wait_for(lambda: not process(child), seconds=8, what="the end of the late worker's child")
    wait_for(lambda: "the lease is lost" in worker.log.read_text(), seconds=5, what="its words")
    now = wait_for_build(build, lambda each: step_is(each, "fetch", "finished"))
    assert now.lease_token == taken.lease_token
    assert worker.is_running
    assert_nothing_left_but_the_holders(data_dir, now)


def assert_nothing_left_but_the_holders(data_dir: Path, build: Build) -> None:
    drafts = (data_dir / "builds" / build.id).glob(".*")
    assert all(each.name.endswith(f".{build.lease_token}") for each in drafts)
    assert not orphans()


def test_a_restarted_database_does_not_cost_the_build(
    build: Build, restart_postgres: Callable[[Callable[[], bool]], float], pair: Pair
) -> None:
    wait_for_step(build, "fetch")
    token = fresh(build).lease_token
    away_seconds = restart_postgres(lambda: "the database does not answer" in pair.words())
    after = wait_for_build(
        build, lambda each: step_is(each, "inspect", "finished"), meanwhile=Sweeper()
    )
    assert after.attempt == 1
    # On a machine so slow that the lease ran out meanwhile, another worker goes on.
    assert after.lease_token == token or away_seconds > LEASE_SECONDS - RENEW_SECONDS


def test_a_killed_broker_costs_neither_the_running_nor_the_queued_build(
    build: Build, make_build: MakeBuild, pair: Pair, restart_broker: Callable[[], None]
) -> None:
    wait_for_step(build, "fetch")
    token = fresh(build).lease_token
    queued = send(make_build(pool=pair.pool))
    restart_broker()
    sweep = Sweeper()
    wait_for_build(
        queued,
        lambda each: step_is(each, "fetch", "finished"),
        seconds=TRUE_STATE_SECONDS,
        meanwhile=sweep,
    )
    assert fresh(build).lease_token == token
    build_cancel(build=fresh(queued))
    wait_for_build(queued, lambda each: each.finished_at, meanwhile=sweep)


def test_a_worker_of_a_host_that_nobody_sees_is_given_up_when_its_lease_runs_out(
    build: Build, pair: Pair
) -> None:
    wait_for_step(build, "fetch")
    pid = owner_pid(fresh(build))
    Build.objects.filter(id=build.id).update(lease_owner="elsewhere/0/1/1")
    pair.take(pid).kill()
    wait_for_build(
        build,
        lambda each: is_at_work(each, "fetch") and not each.lease_owner.startswith("elsewhere"),
        seconds=TRUE_STATE_SECONDS,
        meanwhile=Sweeper(),
    )
