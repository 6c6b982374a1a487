"""What was measured and counted of the stage beside its series: use, a benchmark, a tuning."""

from datetime import timedelta
from typing import Any

from apps.accounts.models import ApiKey
from apps.configs.lookahead_tunings import examples
from apps.deployments.models import Deployment
from apps.fleet.models import DevicePrice
from apps.telemetry.models import DeviceHour, UsageMinute
from controlplane import clock
from tests.factories_benchmarks import STAGE

_TOKENS_OF_DAYS = ((41_200, 9_800), (52_900, 12_300), (18_400, 4_100))
_LEVELS = ((1, 210.0, 0.11), (8, 940.0, 0.16), (32, 2210.0, 0.31), (64, 2650.0, 0.82))
_DRAFTS = ((7, 6.9, 4.1), (15, 13.2, 7.8), (31, 23.9, 13.6), (63, 38.2, 21.4))


def use_of(deployment: Deployment) -> None:
    """Count three days of its requests and GPU hours, under each key of its team."""
    today = clock.now().replace(minute=0, second=0, microsecond=0)
    DevicePrice.objects.create(kind="CPU", per_hour="0.12", since=today - timedelta(days=9))
    of_model = {"deployment_id": deployment.id, "model_id": deployment.model_id}
    team_id = deployment.model.team_id
    keys = ApiKey.objects.filter(team_id=team_id).order_by("created_at")
    for days_ago, (prompt, completion) in enumerate(_TOKENS_OF_DAYS):
        hour = today - timedelta(days=days_ago)
        DeviceHour.objects.create(
            hour=hour, team_id=team_id, kind="CPU", seconds=80_000.0, **of_model
        )
        UsageMinute.objects.bulk_create(
            UsageMinute(
                minute=hour, key_id=key.id, status_class=2, requests=prompt // 90 // share,
                prompt_tokens=prompt // share, completion_tokens=completion // share, **of_model
            )
            for share, key in enumerate(keys, 1)
        )  # fmt: skip


def levels() -> list[dict[str, Any]]:
    """Return what a benchmark measured at four levels, slower the more ask at a time."""
    return [
        STAGE | {
            "level": level, "requests": 60 * level, "completion_tokens_per_second": throughput,
            "first_token_seconds": {"p50": p90 / 2, "p90": p90, "p99": p90 * 1.4},
            "inter_token_seconds": {"p50": p90 / 30, "p90": p90 / 18, "p99": p90 / 9},
            "end_to_end_seconds": {"p50": p90 * 4, "p90": p90 * 5, "p99": p90 * 6},
        }
        for level, throughput, p90 in _LEVELS
    ]  # fmt: skip


def tuned() -> dict[str, Any]:
    """Return a tuning's result with drafts of four lengths, the longest of them the best."""
    result = examples.TUNING["result"]
    (best,) = result["settings"]
    return result | {"settings": [_drafts(best, *each) for each in reversed(_DRAFTS)]}


def _drafts(best: dict[str, Any], tokens: int, per_step: float, ratio: float) -> dict[str, Any]:
    positions = [position for position in (1, 2, 4, 8, 16, 32) if position <= tokens]
    return best | {
        "setting": best["setting"] | {"longest_draft_tokens": tokens},
        "words": f"drafts of {tokens} tokens", "tokens_per_step": per_step,
        "acceptance_by_position": [
            {"position": position, "share": 0.96 - position / 90} for position in positions
        ],
        "by_batch": [{"requests": 1, "ratio": ratio, "tokens_per_second": 266.0 * ratio}],
        "helps_up_to": max(8, 512 // (tokens + 1)),
    }  # fmt: skip
