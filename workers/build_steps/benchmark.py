"""Benchmark: deployments asked through the gateway, at one level of load after another."""

from workers.benchmarking.run import run_benchmark
from workers.build_steps.events import Events
from workers.build_steps.failures import StepFailure
from workers.build_steps.job import Job
from workers.build_steps.step import StepResult

KEY = "benchmark_key"
"""The secret under which the key of the run comes."""


def run(job: Job, events: Events) -> StepResult:
    """Measure what the order names; its figures lie in the output folder."""
    order = job.options.benchmark
    if order is None:
        raise ValueError("a job without a benchmark")
    failure = run_benchmark(
        order, job.secrets[KEY], job.output, lambda done, total: _tell(events, done, total)
    )
    if failure is not None:
        raise StepFailure(failure)
    return StepResult(values={"targets": len(order.targets)})


def _tell(events: Events, done: int, total: int) -> None:
    events.progress(done, total, "seconds")
