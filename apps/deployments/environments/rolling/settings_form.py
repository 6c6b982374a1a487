from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from apps.deployments.environments.promotion_settings import promotion_settings
from apps.deployments.models import Environment
from controlplane.domain.rolling.answer_guard import prompt_lines, prompts_of_lines
from controlplane.domain.rolling.settings import RollSettings, Strategy
from controlplane.domain.rolling.slo_guard import GuardAction

WAYS: Mapping[str, str] = {
    Strategy.AT_ONCE.value: "At once, when enough replicas are ready",
    Strategy.REPLICA.value: "Replica by replica",
    Strategy.RAMP.value: "In ten stages by time",
}
GUARDS: Mapping[str, str] = {"": "None", "PAUSE": "Pauses it", "CANCEL": "Returns it"}
ANSWER_ACTIONS: Mapping[str, str] = {key: words for key, words in GUARDS.items() if key}


@dataclass(frozen=True, kw_only=True)
class MoveForm:
    environment: Environment
    is_closed: bool

    @property
    def settings(self) -> RollSettings:
        return RollSettings.of(promotion_settings(self.environment))

    @property
    def way(self) -> str:
        return self.settings.strategy.value

    @property
    def words(self) -> str:
        canary = self.settings.canary_percent
        return WAYS[self.way].split(",")[0] + (f", canary at {canary} %" if canary else "")

    @property
    def by_header(self) -> bool:
        return bool(promotion_settings(self.environment)["canary_by_header"])

    @property
    def guard(self) -> str:
        guard = promotion_settings(self.environment)["slo_guard"]
        return "" if guard is None else str(guard.get("action", "PAUSE"))

    @property
    def answer_guard(self) -> dict[str, Any]:
        guard = promotion_settings(self.environment)["answer_guard"] or {}
        return {"min_equal_percent": 100, "action": GuardAction.PAUSE.value, **guard}

    @property
    def prompt_lines(self) -> str:
        return prompt_lines(self.answer_guard.get("prompts", ()))

    ways = WAYS
    guards = GUARDS
    answer_actions = ANSWER_ACTIONS


def settings_from_form(form: Mapping[str, str], environment: Environment) -> dict[str, Any]:
    """Return the promotion settings that the form says, in the shape of REST, unchecked.

    What the form does not show of them stays as it is.
    """
    way, known = form.get("way", ""), promotion_settings(environment)
    config = {
        **_without_empty(known["rolling_deploy_config"] or {}),
        "max_surge_percent": form.get("max_surge_percent", ""),
        "stabilization_time_seconds": form.get("stabilization_time_seconds", ""),
    }
    guard = form.get("guard", "")
    return {
        "rolling_deploy": way == Strategy.REPLICA.value,
        "ramp_up_while_promoting": way == Strategy.RAMP.value,
        "ramp_up_duration_seconds": form.get("ramp_up_duration_seconds", ""),
        "canary_percent": form.get("canary_percent") or None,
        "canary_by_header": form.get("canary_by_header") == "on",
        "slo_guard": {**(known["slo_guard"] or {}), "action": guard} if guard else None,
        "answer_guard": _answer_guard(form, known["answer_guard"] or {}),
        "rolling_deploy_config": config,
    }


def _answer_guard(form: Mapping[str, str], known: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the answer guard that the form says; without a prompt there is none."""
    prompts = prompts_of_lines(form.get("prompts", ""))
    if not prompts:
        return None
    return {
        **known,
        "prompts": prompts,
        "max_length_difference_percent": form.get("max_length_difference_percent") or None,
        "require_valid_schema": form.get("require_valid_schema") == "on",
        "min_equal_percent": form.get("min_equal_percent", ""),
        "action": form.get("answer_action", GuardAction.PAUSE.value),
    }


def _without_empty(config: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in config.items() if value is not None}
