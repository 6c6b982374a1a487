"""Tasks of telemetry: keep what engines report, forget what is old."""

import logging

from apps.accounts.routes_version import routes_changes_prune
from apps.alerts.budgets import budgets_measure
from apps.alerts.pruning import alerts_prune
from apps.deployments.autoscaling.history import decisions_prune
from apps.deployments.autoscaling.signal import loads_prune
from apps.deployments.environments.rolling.answers.selectors import answer_checks_prune
from apps.deployments.environments.rolling.history import events_prune
from apps.deployments.environments.rolling.samples import samples_prune
from apps.deployments.metrics.sampling import series_sample
from apps.deployments.nodes.failed_starts import failed_starts_prune
from apps.deployments.services.replicas import replicas_prune
from apps.deployments.usage.device_time import device_time_record
from apps.deployments.usage.spend_limits import spend_limits_apply
from apps.fleet.services.devices import device_leases_prune
from apps.telemetry.logs import log_prune
from apps.telemetry.series.services import series_fold, series_prune
from apps.telemetry.services.retention import telemetry_prune
from workers.tasks.ticks import tick

_log = logging.getLogger(__name__)


@tick("telemetry.sample")
def sample() -> None:
    series_sample()


@tick("telemetry.fold")
def fold() -> None:
    series_fold()


@tick("telemetry.spend")
def spend() -> None:
    """Add up the hours of GPUs and what teams have spent; stop keys that used up their money."""
    device_time_record()
    budgets_measure()
    if changed := spend_limits_apply():
        _log.info("%s keys reached what they may spend, or may go on", changed)


@tick("telemetry.prune")
def prune() -> None:
    others = telemetry_prune() + replicas_prune() + failed_starts_prune() + device_leases_prune()
    others += routes_changes_prune() + series_prune() + alerts_prune()
    others += loads_prune() + decisions_prune() + events_prune() + samples_prune()
    others += answer_checks_prune()
    _log.info("pruned %s log chunks, %s other rows", log_prune(), others)
