"""Every few seconds: each deployment gets the size that its load asks for."""

from datetime import UTC, datetime

from django.db import transaction

from apps.accounts.routes_version import routes_version_bump
from apps.deployments.autoscaling.models import ScalingDecision, ScalingState
from apps.deployments.autoscaling.schedules import settings_in_force
from apps.deployments.autoscaling.signal import Signals, signals_at
from apps.deployments.autoscaling.sizes import (
    SIZED,
    deployments_sized,
    memory_of,
    sizes_of,
)
from apps.deployments.autoscaling.waking import woken_values
from apps.deployments.models import Deployment
from apps.deployments.services.reconcile import deployment_settle_after_commit
from apps.leases.alone import alone
from apps.leases.each_by_itself import each_by_itself
from controlplane.clock import SYSTEM, Clock
from controlplane.domain.scaling.decision import Decision, Signal, Size, decide
from controlplane.domain.scaling.reasons import ReasonCode
from controlplane.domain.scaling.settings import ScalingSettings

_ADVISORY_LOCK = 7_020_006
_LOGGED_REASONS = frozenset({ReasonCode.SIGNAL_MISSING, ReasonCode.STARTS_FAIL})
"""Reasons to keep a size that a person wants to find in the history, each once as it begins."""


def autoscale(*, clock: Clock = SYSTEM) -> int:
    """Return how many deployments got another size; none where another process is at it."""
    with alone(_ADVISORY_LOCK) as is_alone:
        return autoscale_round(now=clock.now()) if is_alone else 0


def autoscale_round(*, now: datetime) -> int:
    """Decide for all; a second one at the same time does no harm: each change compares and sets."""
    rows = deployments_sized()
    settings = settings_in_force(rows, now=now)
    signals = signals_at(now, windows={each.autoscaling_window for each in settings.values()})
    sizes = sizes_of(rows)
    return each_by_itself(
        rows,
        lambda each: _resize(each, settings[each.id], signals, sizes[each.id], now),
        broken="deployment %s was not sized",
    )


def _resize(
    deployment: Deployment, settings: ScalingSettings, signals: Signals, size: Size, now: datetime
) -> bool:
    signal = signals.of(deployment.id, window_seconds=settings.autoscaling_window)
    memory, at = memory_of(deployment), now.timestamp()
    decision = decide(settings, signal, size, memory, now=at)
    if decision.wanted == size.wanted and _is_remembered(deployment, decision):
        return False  # as nearly always: then nothing is asked of the database
    return decision_apply(deployment=deployment, decision=decision, signal=signal, now=now)


@transaction.atomic
def decision_apply(
    *, deployment: Deployment, decision: Decision, signal: Signal, now: datetime
) -> bool:
    """Return whether the size was changed; not where it is another one by now than was decided on.

    `deployment` is as it was read for the decision.
    """
    before = deployment.wanted_replicas
    is_move = decision.wanted != before
    if is_move and not _resized(deployment, decision):
        return False
    known: ScalingState | None = getattr(deployment, "scaling", None)
    is_news = decision.reason.code in _LOGGED_REASONS and (
        known is None or known.code != decision.reason.code
    )
    _remember(deployment, known, decision)
    if is_move or is_news:
        ScalingDecision.objects.create(
            deployment=deployment,
            at=now,
            code=decision.reason.code,
            sentence=decision.reason.sentence,
            before=before,
            after=decision.wanted,
            by_load=decision.by_load,
            requests=signal.load.requests,
            tokens=signal.load.tokens,
        )
    if is_move:
        _follow(deployment, decision)
    return is_move


def _resized(deployment: Deployment, decision: Decision) -> bool:
    before = deployment.wanted_replicas
    as_read = Deployment.objects.filter(
        id=deployment.id,
        state__in=SIZED,
        wanted_replicas=before,
        min_replica=deployment.min_replica,
        max_replica=deployment.max_replica,
    )
    values = woken_values(deployment) if before == 0 else {}
    return bool(as_read.update(**values, wanted_replicas=decision.wanted))


def _remember(deployment: Deployment, known: ScalingState | None, decision: Decision) -> None:
    if known is None or not _is_remembered(deployment, decision):
        ScalingState.objects.update_or_create(
            deployment_id=deployment.id, defaults=_state_values(decision)
        )


def _is_remembered(deployment: Deployment, decision: Decision) -> bool:
    known: ScalingState | None = getattr(deployment, "scaling", None)
    values = _state_values(decision)
    return known is not None and all(getattr(known, key) == each for key, each in values.items())


def _state_values(decision: Decision) -> dict[str, object]:
    low, raised = decision.memory.low_since, decision.memory.raised_at
    return {
        "low_since": datetime.fromtimestamp(low, UTC) if low is not None else None,
        "raised_at": datetime.fromtimestamp(raised, UTC) if raised is not None else None,
        "code": decision.reason.code.value,
    }


def _follow(deployment: Deployment, decision: Decision) -> None:
    if 0 in (deployment.wanted_replicas, decision.wanted):
        # Gateways hold requests for one that sleeps, also while its last replica leaves.
        routes_version_bump(deployments=[deployment.id])
    deployment_settle_after_commit(deployment_id=deployment.id)
