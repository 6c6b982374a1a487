"""How an environment moves: what it began with, and how far it is, as its promotion keeps it."""

from collections.abc import Mapping
from typing import Any

from apps.deployments.models import Environment
from controlplane.domain.rolling.roll import Roll
from controlplane.domain.rolling.settings import RollSettings


def plan_begun(settings: Mapping[str, Any]) -> dict[str, Any]:
    begun = RollSettings.of(settings)
    if not begun.is_gradual:
        # It moves in one step, before which both deployments are asked.
        return {"plan": _without_prompts(settings)} if settings.get("answer_guard") else {}
    by_header = begun.canary_by_header
    return {"plan": _without_prompts(settings), "by_header": by_header, "rolling_deploy": True}


def is_rolling(environment: Environment) -> bool:
    """Whether both deployments may carry traffic for a while; a first one has nothing beside it."""
    return environment.current_id is not None and "plan" in (environment.promotion or {})


def roll_of(environment: Environment, *, carried: int) -> Roll:
    """Return how far it is; `carried` replicas carry the traffic where it only begins."""
    roll = (environment.promotion or {}).get("roll")
    return Roll.of(roll) if roll else Roll(total=max(1, carried))


def settings_of_roll(environment: Environment) -> RollSettings:
    return RollSettings.of((environment.promotion or {}).get("plan") or {})


def _without_prompts(settings: Mapping[str, Any]) -> dict[str, Any]:
    # They may be large, and the check that asks them keeps its own.
    return {name: value for name, value in settings.items() if name != "answer_guard"}
