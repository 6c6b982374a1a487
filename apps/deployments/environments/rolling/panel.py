from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from apps.accounts.permissions import Actor
from apps.deployments.environments.restrictions import closed_environments
from apps.deployments.environments.rolling.answers.panel import AnswersRow, answers_rows
from apps.deployments.environments.rolling.history import event_list
from apps.deployments.environments.rolling.models import PromotionEvent
from apps.deployments.models import Deployment, Environment
from controlplane.domain.rolling.roll import Status

EVENTS_SHOWN = 8


@dataclass(frozen=True, kw_only=True)
class RollPanel:
    environment: Environment
    events: Sequence[PromotionEvent]
    is_closed: bool
    """Whether the person may view it but not change it."""
    answers: Sequence[AnswersRow] = ()
    """What both deployments said before any traffic moves."""

    @property
    def candidate(self) -> Deployment | None:
        return self.environment.candidate

    @property
    def status(self) -> str:
        return str(self._promotion.get("status", "SUCCEEDED"))

    @property
    def status_words(self) -> str:
        return self.status.replace("_", " ").lower()

    @property
    def percent(self) -> int:
        return int(self._promotion.get("percent_traffic_to_new_version", 0))

    @property
    def why(self) -> str:
        promotion = self._promotion
        return str(promotion.get("waits_for") or promotion.get("error_message") or "")

    @property
    def may_pause(self) -> bool:
        is_first = self.environment.current_id is None
        return self.candidate is not None and not is_first and self.status != Status.PAUSED

    @property
    def may_resume(self) -> bool:
        return self.candidate is not None and self.status == Status.PAUSED

    @property
    def may_cancel(self) -> bool:
        return self.candidate is not None and self.status != Status.RAMPING_DOWN

    @property
    def may_force(self) -> bool:
        """Whether there is something to move at once, either way."""
        return self.candidate is not None and "roll" in self._promotion

    @property
    def _promotion(self) -> dict[str, Any]:
        return self.environment.promotion or {}


def roll_panels(
    environments: Iterable[Environment], *, actor: Actor, of: str | None = None
) -> list[RollPanel]:
    """Return the environments on their way, of one deployment where `of` is its id."""
    rolling = [each for each in environments if each.candidate_id is not None]
    if of is not None:
        rolling = [each for each in rolling if of in (each.candidate_id, each.current_id)]
    closed = closed_environments(actor, rolling) if rolling else frozenset()
    return [
        RollPanel(
            environment=each,
            events=list(event_list(environment=each)[:EVENTS_SHOWN]),
            is_closed=each.name in closed,
            answers=answers_rows(each),
        )
        for each in rolling
    ]
