"""The guard of a roll: looks at what was asked of both deployments at the present share."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from apps.deployments.environments.rolling.history import event_add
from apps.deployments.environments.rolling.samples import (
    samples_count,
    samples_drop,
    samples_of,
)
from apps.deployments.models import Environment
from controlplane.domain.rolling.roll import Direction, Pause, Roll, paused, returning
from controlplane.domain.rolling.slo_guard import GuardAction, GuardSettings, Verdict, verdict


@dataclass(frozen=True, kw_only=True)
class Guard:
    since: datetime
    look: int
    """At this share."""
    spent: int
    """Looks at any share: each makes the next one stricter."""

    def to_json(self) -> dict[str, Any]:
        return {"since": self.since.isoformat(), "look": self.look, "spent": self.spent}


def guard_settings(environment: Environment) -> GuardSettings | None:
    """Return the guard's own settings; None where the roll has no guard."""
    settings = ((environment.promotion or {}).get("plan") or {}).get("slo_guard")
    return None if settings is None else GuardSettings.of(settings)


def guard_begun(environment: Environment, now: datetime) -> dict[str, Any]:
    """Return what a promotion keeps of its guard as another share begins; nothing without one."""
    if guard_settings(environment) is None:
        return {}
    samples_drop([environment.candidate_id, environment.current_id])
    known = _known(environment)
    spent = 0 if known is None else known.spent
    return {"guard": Guard(since=now, look=0, spent=spent).to_json()}


def guarded(environment: Environment, roll: Roll) -> Roll:
    """Return the roll, paused or on its way back where the candidate serves worse."""
    settings, known = guard_settings(environment), _known(environment)
    watches = roll.paused is None and roll.direction is Direction.UP and roll.percent
    if settings is None or known is None or not watches:
        return roll
    verdict = _look(environment, settings, known)
    return roll if verdict is None else _acted(environment, settings, roll, verdict)


def _look(environment: Environment, settings: GuardSettings, known: Guard) -> Verdict | None:
    candidate_id, current_id = environment.candidate_id or "", environment.current_id or ""
    if samples_count(candidate_id, known.since) < settings.requests_at(known.look):
        return None
    candidate, current = (samples_of(id, known.since) for id in (candidate_id, current_id))
    if len(current) < settings.min_requests:
        return None
    looked = Guard(since=known.since, look=known.look + 1, spent=known.spent + 1)
    environment.promotion = {**(environment.promotion or {}), "guard": looked.to_json()}
    environment.save(update_fields=["promotion"])
    return verdict(settings, candidate, current, look=known.look, spent=known.spent)


def _acted(environment: Environment, settings: GuardSettings, roll: Roll, verdict: Verdict) -> Roll:
    sentence = f"{verdict.sentence} Requests: {', '.join(f'`{id}`' for id in verdict.request_ids)}."
    event_add(environment, code="guard", sentence=sentence, percents=(roll.percent, roll.percent))
    if settings.action == GuardAction.CANCEL:
        return returning(roll, sentence)
    return paused(roll, Pause.GUARD, sentence)


def _known(environment: Environment) -> Guard | None:
    guard = (environment.promotion or {}).get("guard")
    if guard is None:
        return None
    since = datetime.fromisoformat(guard["since"]).astimezone(UTC)
    return Guard(since=since, look=guard["look"], spent=guard["spent"])
