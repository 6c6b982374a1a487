"""Celery finds every task through this package: each module here is named below."""

from workers.tasks import (
    build,
    deployments,
    facts,
    presence,
    previews,
    pushes,
    secret_tests,
    start,
    storage,
    sweep,
    telemetry,
)

__all__ = [
    "build",
    "deployments",
    "facts",
    "presence",
    "previews",
    "pushes",
    "secret_tests",
    "start",
    "storage",
    "sweep",
    "telemetry",
]
