"""How a deployment stands to its load right now: what a decision would say, without making it."""

from dataclasses import dataclass
from datetime import UTC, datetime

from apps.deployments.autoscaling.schedules import settings_in_force
from apps.deployments.autoscaling.signal import signals_at
from apps.deployments.autoscaling.sizes import SIZED, memory_of, sizes_of
from apps.deployments.models import Deployment
from controlplane import clock
from controlplane.domain.scaling.decision import Decision, Signal, decide
from controlplane.domain.scaling.settings import ScalingSettings


@dataclass(frozen=True, kw_only=True)
class Standing:
    settings: ScalingSettings
    signal: Signal
    decision: Decision

    @property
    def next_at(self) -> datetime | None:
        """When replicas end, if the load stays as low."""
        at = self.decision.next_at
        return None if at is None else datetime.fromtimestamp(at, UTC)

    @property
    def is_to_sleep(self) -> bool:
        """Whether the next step down, if nothing changes, ends the last replica."""
        return self.decision.next_at is not None and self.decision.wanted == 1


def standing_of(deployment: Deployment, *, now: datetime | None = None) -> Standing | None:
    """Return how the deployment stands to its load; None where it is not sized by it now."""
    if deployment.state not in SIZED:
        return None
    at = now or clock.now()
    settings = settings_in_force([deployment], now=at)[deployment.id]
    window = settings.autoscaling_window
    signal = signals_at(at, windows={window}).of(deployment.id, window_seconds=window)
    size = sizes_of([deployment])[deployment.id]
    decision = decide(settings, signal, size, memory_of(deployment), now=at.timestamp())
    return Standing(settings=settings, signal=signal, decision=decision)
