"""Tasks of benchmarks: run one by a child process, and find those whose task was lost."""

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from celery import shared_task
from django.conf import settings
from django.db import InterfaceError, OperationalError, connection

from apps.accounts.routes_version import routes_version_current
from apps.benchmarks.leasing import BENCHMARK
from apps.benchmarks.services.carrying import (
    benchmark_begin,
    benchmark_claim,
    benchmark_end,
    benchmark_key,
    benchmark_progress,
)
from apps.fleet.selectors import gateways_have_applied
from apps.leases.lease import Lease, LeaseLost
from apps.leases.sweeping import leases_sweep
from controlplane.domain.benchmarks.order import BenchmarkOrder
from controlplane.domain.failures import Failure
from controlplane.domain.failures.registry import benchmarks
from controlplane.domain.lifecycle import BenchmarkState
from workers.benchmarking.progress import progress_read
from workers.build_steps.benchmark import KEY
from workers.build_steps.child import OutcomeKind, StepCommand, StepOutcome, Verdict, run_step
from workers.build_steps.job import Job
from workers.build_steps.options import JobOptions
from workers.tasks.leasing import (
    Interrupted,
    LeaseKeeper,
    LeaseStatus,
    claimed,
    kept,
    lease_folder,
    retry_on_db_error,
    verdict_of,
)
from workers.tasks.ticks import tick

GATEWAY_SECONDS = 15.0
_PAUSE_SECONDS = 0.2
_log = logging.getLogger(__name__)


@tick("benchmarks.sweep")
def sweep() -> None:
    leases_sweep(BENCHMARK)


@shared_task(name="benchmarks.run")
def run(benchmark_id: str, **newer: Any) -> None:
    lease = claimed(lambda owner: benchmark_claim(benchmark_id=benchmark_id, owner=owner))
    if lease is not None:
        with (
            kept(lease, cancelled=_cancelled) as keeper,
            lease_folder(lease, under="benchmarks") as folder,
        ):
            _measure(keeper, folder)


def _measure(keeper: LeaseKeeper, folder: Path) -> None:
    order = retry_on_db_error(keeper, lambda: benchmark_begin(lease=keeper.lease))
    key = benchmark_key(lease=keeper.lease)
    if not _gateways_know(keeper):
        _end(keeper, BenchmarkState.FAILED, benchmarks.NO_GATEWAY.failure(seconds=GATEWAY_SECONDS))
        return
    report = _Report(keeper, folder / "output")
    outcome = run_step(
        _command(keeper, order, key, folder),
        on_progress=lambda _progress: None,
        on_log=lambda data: _log.info("%s", data.decode(errors="replace")),
        heartbeat=report.beat,
        clock=keeper.clock,
    )
    report.store(is_last=True)
    _store(keeper, outcome)


def _gateways_know(keeper: LeaseKeeper) -> bool:
    version = retry_on_db_error(keeper, routes_version_current)
    give_up_at = keeper.clock.monotonic() + GATEWAY_SECONDS
    while not retry_on_db_error(keeper, lambda: gateways_have_applied(version)):
        keeper.check()
        if keeper.clock.monotonic() >= give_up_at:
            return False
        keeper.clock.sleep(_PAUSE_SECONDS)
    return True


def _command(keeper: LeaseKeeper, order: BenchmarkOrder, key: str, folder: Path) -> StepCommand:
    job = Job(
        build_id=keeper.lease.id,
        attempt=keeper.lease.token,
        spec={},
        inputs={},
        output_dir=str(folder / "output"),
        options=JobOptions(benchmark=order),
    )
    job.write(folder / "job.json")
    return StepCommand(
        step="benchmark",
        job_path=folder / "job.json",
        lease=keeper.lease.marker,
        instance=str(settings.DATA_DIR),
        secrets={KEY: key},
    )


def _store(keeper: LeaseKeeper, outcome: StepOutcome) -> None:
    if outcome.kind is OutcomeKind.FINISHED:
        _end(keeper, BenchmarkState.SUCCEEDED)
    elif outcome.failure is not None:
        _end(keeper, BenchmarkState.FAILED, outcome.failure)
    else:
        keeper.check()
        raise Interrupted(LeaseStatus.LOST)


def _end(keeper: LeaseKeeper, state: BenchmarkState, failure: Failure | None = None) -> None:
    retry_on_db_error(
        keeper, lambda: benchmark_end(lease=keeper.lease, state=state, failure=failure)
    )


def _cancelled(*, lease: Lease) -> None:
    benchmark_end(lease=lease, state=BenchmarkState.CANCELLED)


class _Report:
    """Stores what the child has measured, each second, and tells it whether to go on."""

    def __init__(self, keeper: LeaseKeeper, output: Path) -> None:
        self._keeper, self._output = keeper, output
        self._stored: Mapping[str, Any] | None = None

    def beat(self) -> Verdict:
        self.store()
        return verdict_of(self._keeper.status)

    def store(self, *, is_last: bool = False) -> None:
        """Store what is new; of what the database does not take now, later ones tell."""
        progress = progress_read(self._output)
        if (
            progress is None
            or progress == self._stored
            or not (is_last or self._keeper.is_reachable)
        ):
            return
        try:
            self._write(progress) if not is_last else retry_on_db_error(
                self._keeper, lambda: self._write(progress)
            )
            self._stored = progress
        except (OperationalError, InterfaceError):
            connection.close()
        except LeaseLost:
            return  # the next beat ends the child

    def _write(self, progress: Mapping[str, Any]) -> None:
        benchmark_progress(
            lease=self._keeper.lease, stages=progress["stages"], progress=progress["progress"]
        )
