"""Celery finds every task through this package: each module here is named below."""

from workers.tasks import build, deployments, sweep, telemetry

__all__ = ["build", "deployments", "sweep", "telemetry"]
