"""Celery finds every task through this package: each module here is named below."""

from workers.tasks import (
    alerts,
    async_requests,
    benchmarks,
    build,
    deployments,
    facts,
    metrics,
    presence,
    previews,
    pushes,
    secret_tests,
    start,
    storage,
    sweep,
    telemetry,
    tunings,
)

__all__ = [
    "alerts",
    "async_requests",
    "benchmarks",
    "build",
    "deployments",
    "facts",
    "metrics",
    "presence",
    "previews",
    "pushes",
    "secret_tests",
    "start",
    "storage",
    "sweep",
    "telemetry",
    "tunings",
]
