"""A benchmark by its task: a child asks a stand-in at the gateway's address, whatever comes."""

import threading
from collections.abc import Iterator

import pytest
from django.db import connections
from pytest_django import Settings

from apps.accounts.models import ApiKey
from apps.benchmarks.leasing import BENCHMARK
from apps.benchmarks.models import Benchmark
from apps.benchmarks.services.carrying import benchmark_claim, benchmark_key, benchmark_progress
from apps.benchmarks.services.requests import benchmark_cancel
from apps.leases.services import TAKEN_AWAY
from apps.leases.sweeping import leases_sweep
from controlplane import clock
from tests.factories_benchmarks import STAGE, make_benchmark
from tests.stand_in_gateway import StandInGateway
from tests.waiting import wait_for
from workers.tasks import benchmarks

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("broker", "data_dir"),
    pytest.mark.process,
]


@pytest.fixture
def gateway(settings: Settings) -> Iterator[StandInGateway]:
    with StandInGateway() as started:
        settings.GATEWAY_URL = started.url
        yield started


class Running(threading.Thread):
    """The task in a thread, as a worker has it."""

    def __init__(self, benchmark: Benchmark) -> None:
        super().__init__(daemon=True)
        self._id = benchmark.id
        self.start()

    def run(self) -> None:
        try:
            benchmarks.run(self._id)
        finally:
            connections.close_all()

    def wait(self) -> Benchmark:
        wait_for(lambda: not self.is_alive(), what="the task to end")
        return Benchmark.objects.get(id=self._id)


def stages_of(benchmark: Benchmark) -> list[dict]:
    return benchmark.targets.get().stages


def test_a_run_measures_its_levels_with_a_marked_key_that_ends_with_it(
    gateway: StandInGateway,
) -> None:
    done = Running(make_benchmark()).wait()

    assert done.state == "succeeded", done.failure
    assert [(each["level"], each["is_partial"]) for each in stages_of(done)] == [
        (1, False), (8, False),
    ]  # fmt: skip
    assert all(each["requests"] and each["errors"] == 0 for each in stages_of(done))
    assert all(each["completion_tokens_mean"] == 10 for each in stages_of(done))
    assert {each["x-enginehouse-traffic"] for each in gateway.headers} == {"benchmark"}
    key = ApiKey.objects.get(traffic_mark="benchmark")
    assert key.revoked_at is not None
    assert key.model_ids == [done.targets.get().deployment.model_id]
    assert done.targets.get().made_of["runtime"] == "native"


def test_a_run_that_is_cancelled_stops_asking_and_keeps_what_it_had(
    gateway: StandInGateway,
) -> None:
    benchmark = make_benchmark(order=_order(seconds=500.0))
    running = Running(benchmark)
    wait_for(lambda: stages_of(benchmark), what="figures of the level under way")

    benchmark_cancel(benchmark=benchmark)
    done = running.wait()

    assert done.state == "cancelled"
    assert [each["is_partial"] for each in stages_of(done)] == [True]
    assert ApiKey.objects.get(traffic_mark="benchmark").revoked_at is not None


def test_a_run_whose_lease_is_lost_stops_asking_and_writes_nothing_more(
    gateway: StandInGateway,
) -> None:
    benchmark = make_benchmark(order=_order(seconds=500.0))
    running = Running(benchmark)
    wait_for(lambda: gateway.count > 5, what="requests")

    Benchmark.objects.filter(id=benchmark.id).update(state="queued", **TAKEN_AWAY)
    done = running.wait()

    assert done.state == "queued"
    assert done.failure is None


def test_a_deployment_that_dies_in_the_middle_is_said_and_what_it_answered_is_kept(
    gateway: StandInGateway,
) -> None:
    gateway.status_of = lambda number: 200 if number < 60 else 503
    done = Running(make_benchmark(order=_order(seconds=30.0))).wait()

    assert done.state == "failed"
    assert done.failure["code"] == "EHM-GONE"
    assert "HTTP 503: refused 503" in done.failure["sentence"]
    assert stages_of(done)[-1]["is_partial"]
    assert sum(each["requests"] for each in stages_of(done)) > 0


def test_a_deployment_that_refuses_the_requests_is_said_before_any_load(
    gateway: StandInGateway,
) -> None:
    gateway.status_of = lambda number: 400
    done = Running(make_benchmark()).wait()

    assert (done.state, done.failure["code"]) == ("failed", "EHM-REFUSED")
    assert gateway.count == 1


def test_a_run_whose_worker_was_killed_ends_so_with_its_figures_and_without_its_key() -> None:
    benchmark = make_benchmark()
    lease = benchmark_claim(benchmark_id=benchmark.id)
    benchmark_key(lease=lease)
    benchmark_progress(lease=lease, stages=[[STAGE]], progress={"words": "level 1"})
    Benchmark.objects.update(lease_expires_at=clock.now().replace(year=2020))

    leases_sweep(BENCHMARK)

    benchmark.refresh_from_db()
    assert (benchmark.state, benchmark.failure["code"]) == ("failed", "EHM-LOST")
    assert stages_of(benchmark) == [STAGE]
    assert ApiKey.objects.get(traffic_mark="benchmark").revoked_at is not None


def test_one_run_goes_on_at_a_time() -> None:
    first, second = make_benchmark(), make_benchmark()

    assert benchmark_claim(benchmark_id=first.id) is not None
    assert benchmark_claim(benchmark_id=second.id) is None


def _order(*, seconds: float) -> dict:
    order = make_benchmark(state="cancelled").order
    Benchmark.objects.all().delete()
    order["load"]["seconds"] = seconds
    return order
