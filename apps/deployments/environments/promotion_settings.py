"""How an environment wants to be promoted: its own settings, and those of one that has none."""

from collections.abc import Mapping
from typing import Any

from apps.deployments.models import Environment

CLEANUPS = ("SCALE_TO_ZERO", "KEEP", "DEACTIVATE")
PROMOTION_DEFAULTS: Mapping[str, Any] = {
    "redeploy_on_promotion": False,
    "rolling_deploy": False,
    "promotion_cleanup_strategy": "SCALE_TO_ZERO",
    "rolling_deploy_config": None,
    "ramp_up_while_promoting": False,
    "ramp_up_duration_seconds": 600,
    "canary_percent": None,
    "canary_by_header": False,
    "slo_guard": None,
    "answer_guard": None,
}
"""Source: the hosted product's management API, promotion_settings, read 2026-08-22. The canary and
the guards are ours."""


def promotion_settings(environment: Environment) -> dict[str, Any]:
    return {**PROMOTION_DEFAULTS, **environment.promotion_settings}
