"""Whatever a worker, the database or the broker does, a build goes on or says why not."""

import signal
from collections.abc import Callable, Iterator

import pytest
from django.conf import settings

from apps.builds.models import Build
from apps.builds.services.requests import build_cancel
from apps.leases.database_clock import ClockTimestamp
from tests.processes import CeleryWorker
from tests.waiting import wait_for
from tests.workers.tasks.building import MakeBuild
from tests.workers.tasks.hands import (
    Sweeper,
    fresh,
    is_at_work,
    owner_pid,
    send,
    step_is,
    wait_for_build,
    wait_for_end,
    wait_for_no_orphans,
    wait_for_step,
)
from tests.workers.tasks.pair import Pair

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.recovery,
    pytest.mark.engine,
    pytest.mark.process,
]


@pytest.fixture
def build(make_build: MakeBuild, pair: Pair) -> Iterator[Build]:
    """A build that the pair has been sent, held at its first step; ended afterwards."""
    pair.gates.hold("fetch")
    made = send(make_build(pool=pair.pool))
    yield made
    if fresh(made).state not in ("succeeded", "failed", "cancelled"):
        build_cancel(build=fresh(made))
        wait_for_build(made, lambda each: each.finished_at, meanwhile=Sweeper())
    pair.gates.let_go("fetch")


def test_a_worker_that_is_stopped_gives_its_build_back_at_once(build: Build, pair: Pair) -> None:
    wait_for_step(build, "fetch", pair)
    token, pid = fresh(build).lease_token, owner_pid(fresh(build))
    worker = pair.take(pid)
    worker.send(signal.SIGTERM)
    # Nothing sweeps here: the worker itself sends the build again.
    wait_for_build(
        build,
        lambda each: each.lease_owner and owner_pid(each) != pid and each.lease_token > token,
    )
    wait_for(lambda: not worker.is_running, what=worker.log.read_text)
    assert "given back" in worker.log.read_text()


def test_a_worker_that_comes_back_when_its_lease_ran_out_is_refused_and_its_child_ended(
    build: Build, pair: Pair
) -> None:
    child = wait_for_step(build, "fetch", pair)
    holding = fresh(build)
    pid = owner_pid(holding)
    worker = pair.take(pid)
    # Whoever looks finds that its process lives, so only the clock of the lease tells.
    worker.send(signal.SIGSTOP)
    Build.objects.filter(id=build.id).update(lease_expires_at=ClockTimestamp())
    taken = wait_for_build(
        build,
        lambda each: is_at_work(each, "fetch") and owner_pid(each) != pid,
        meanwhile=Sweeper(),
    )
    assert taken.lease_token > holding.lease_token
    assert_refused(worker, child, taken)
    pair.gates.let_go("fetch")
    now = wait_for_build(build, lambda each: step_is(each, "fetch", "finished"))
    assert now.lease_token == taken.lease_token
    wait_for_no_orphans()


def assert_refused(late: CeleryWorker, child: int, taken: Build) -> None:
    """The worker that was late ends its child, says why, and leaves nothing; the build goes on."""
    late.send(signal.SIGCONT)
    wait_for_end(child)
    wait_for(lambda: "the lease is lost" in late.log.read_text(), what="its words")
    folder = settings.DATA_DIR / "builds" / taken.id
    wait_for(
        lambda: all(each.name.endswith(f".{taken.lease_token}") for each in folder.glob(".*")),
        what="the end of what the late worker left half done",
    )
    assert late.is_running
    assert fresh(taken).lease_token == taken.lease_token
    late.kill()


def test_a_restarted_database_does_not_cost_the_build(
    build: Build, restart_postgres: Callable[[Callable[[], bool]], None], pair: Pair
) -> None:
    wait_for_step(build, "fetch", pair)
    token = fresh(build).lease_token
    restart_postgres(lambda: "the database does not answer" in pair.words())
    pair.gates.let_go("fetch")
    after = wait_for_build(
        build, lambda each: step_is(each, "inspect", "finished"), meanwhile=Sweeper()
    )
    assert after.attempt == 1
    # On a machine so slow that the lease ran out meanwhile, its worker says so and another goes on.
    assert after.lease_token == token or "the lease is lost" in pair.words()


def test_a_killed_broker_costs_neither_the_running_nor_the_queued_build(
    build: Build, make_build: MakeBuild, pair: Pair, restart_broker: Callable[[], None]
) -> None:
    wait_for_step(build, "fetch", pair)
    token = fresh(build).lease_token
    queued = send(make_build(pool=pair.pool))
    restart_broker()
    sweep = Sweeper()
    wait_for_build(queued, lambda each: is_at_work(each, "fetch"), meanwhile=sweep)
    assert fresh(build).lease_token == token
    build_cancel(build=fresh(queued))
    wait_for_build(queued, lambda each: each.finished_at, meanwhile=sweep)
    pair.gates.let_go("fetch")
    after = wait_for_build(build, lambda each: step_is(each, "inspect", "finished"))
    assert after.lease_token == token
