from typing import Any

from apps.accounts.examples import ADA, TEAM_NAME
from apps.configs.examples import EXAMINATION, PARSED, TEXT

CREATED_AT, READY_AT = "2026-11-26T14:10:28.642482Z", "2026-11-26T14:10:49.653243Z"
BUILD_ID = "2jt7a4ax"
_GATEWAY = "http://127.0.0.1:8001/m"


def _urls(place: str) -> dict[str, str]:
    base = f"{_GATEWAY}/{place}"
    return {
        "openai": f"{base}/sync/v1",
        "sync": f"{base}/sync",
        "predict": f"{base}/predict",
        "request": f"{base}/sync/v1/chat/completions",
    }


MODEL: dict[str, Any] = {
    "id": "h5ymnrdv",
    "created_at": CREATED_AT,
    "name": "smollm2",
    "deployments_count": 1,
    "production_deployment_id": "fabn58v3",
    "development_deployment_id": None,
    "instance_type_name": "H100",
    "team_name": TEAM_NAME,
    "urls": _urls("h5ymnrdv/environments/production"),
}
AUTOSCALING: dict[str, Any] = {
    "min_replica": 1,
    "max_replica": 3,
    "autoscaling_window": 60,
    "scale_down_delay": 900,
    "concurrency_target": 8,
    "target_utilization_percentage": 70,
    "target_in_flight_tokens": None,
    "max_scale_down_rate": 50,
}
AUTOSCALING_CHANGE = {"max_replica": 3, "concurrency_target": 8}
AUTOSCALING_ANSWER = {"status": "ACCEPTED", "message": "Stored."}
SCALING_DECISION: dict[str, Any] = {
    "at": READY_AT,
    "code": "load_rose",
    "sentence": "16 requests in flight over 60 s: 3 replicas for 5.6 each.",
    "before": 1,
    "after": 3,
    "by_load": 3,
    "requests": 16.0,
    "tokens": 21_400.0,
}
SCALING_STANDING: dict[str, Any] = {
    "code": "waits",
    "sentence": "2.1 requests in flight over 60 s: 1 replica for 5.6 each; it may rise again.",
    "by_load": 1,
    "held": 0,
    "next_at": "2026-11-26T14:25:49.653243Z",
}
BACKPRESSURE = {"policy": "QUEUE_ON_FULL"}
_SCHEDULE: dict[str, Any] = {
    "name": "Office hours",
    "enabled": True,
    "cadence": "DAILY",
    "weekdays": ["MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY"],
    "start_hour": 8,
    "start_minute": 0,
    "end_hour": 18,
    "end_minute": 0,
    "autoscaling_settings": {"min_replica": 2, "max_replica": None},
}
SCHEDULES_CHANGE = {"timezone": "Europe/Berlin", "schedules": [_SCHEDULE]}
SCHEDULES: dict[str, Any] = {
    "timezone": "Europe/Berlin",
    "schedules": [_SCHEDULE | {"id": "c3k9x2wd"}],
    "applied_state": {
        "schedule_id": "c3k9x2wd",
        "autoscaling_settings": AUTOSCALING | {"min_replica": 2},
    },
}
DEPLOYMENT: dict[str, Any] = {
    "id": MODEL["production_deployment_id"],
    "created_at": CREATED_AT,
    "name": "deployment-1",
    "model_id": MODEL["id"],
    "is_production": True,
    "is_development": False,
    "status": "ACTIVE",
    "is_confirmed": True,
    "active_replica_count": 1,
    "autoscaling_settings": AUTOSCALING,
    "instance_type_name": "H100",
    "environment": "production",
    "labels": None,
    "region": None,
    "request_backpressure_settings": {"policy": None},
    "build_id": BUILD_ID,
    "failure": None,
    "conditions": [],
    "urls": _urls("h5ymnrdv/deployment/fabn58v3"),
}
_SOURCE = {"kind": "build", "build_id": BUILD_ID}
MODEL_WANTED = {"name": MODEL["name"], "source": _SOURCE}
DEPLOYMENT_WANTED = {"source": _SOURCE, "environment": "staging", "name": "deployment-2"}
DEPLOYMENT_RENAMED = {"name": "before-the-migration"}
RETRIED = {"retried": True, "reason": None, "deployment": DEPLOYMENT}
MODEL_TOMBSTONE = {"id": MODEL["id"], "deleted": True}
SETTINGS_CHANGE = {"text": TEXT, "dry_run": False}
SETTINGS_CHANGED: dict[str, Any] = {
    "needs_build": False,
    "reasons_to_build": [],
    "environment": "production",
    "later_revision": None,
    "examination": EXAMINATION,
    "differences": [
        {
            "name": "config",
            "only_differences": True,
            "rows": [
                {
                    "label": "trt_llm.build.max_batch_size",
                    "left": 64,
                    "right": 32,
                    "differs": True,
                }
            ],
        },
        {"name": "plan", "only_differences": True, "rows": []},
    ],
    "deployment": DEPLOYMENT,
}

DEPLOYMENT_TOMBSTONE = {"id": DEPLOYMENT["id"], "deleted": True, "model_id": MODEL["id"]}
DEPLOYMENT_CONFIG = {"raw_config": TEXT, "config": PARSED}
LOG_LINE = {
    "timestamp": "1795702849653243000",
    "message": "ready after 21 s",
    "level": "INFO",
    "replica": "krfe9",
}
REPLICA: dict[str, Any] = {
    "id": "krfe9",
    "node": "gpu-host-3",
    "state": "ready",
    "is_confirmed": True,
    "observed_at": READY_AT,
    "ejected_by": [{"gateway": "gateway-1", "reason": "connect_refused"}],
    "wanted": "running",
    "memory_bytes": 85_899_345_920,
    "placement": "`gpu-host-3` has the fewest replicas of this deployment (0) of those with room "
    "that failed least. Passed over: `gpu-host-2` (failed to start it 2 times in a row).",
    "ordered_at": CREATED_AT,
    "ready_at": READY_AT,
    "finished_at": None,
    "failure": None,
}
_FAILED: dict[str, Any] = {
    "count": 2,
    "first_at": "2026-11-26T14:09:58.102117Z",
    "last_at": "2026-11-26T14:10:20.730551Z",
    "retry_at": "2026-11-26T14:10:24.730551Z",
}
_NO_DRIVER = "The driver of GPU 0 does not answer."
FAILED_STARTS = _FAILED | {
    "node": "gpu-host-2",
    "failure": {
        "code": "EHN-NEVER-READY",
        "blame": "machine",
        "sentence": _NO_DRIVER,
        "field": None,
        "hint": "Look at the driver's log on that host.",
        "fix": None,
        "detail": None,
    },
}
FAILED_ON_NODE = _FAILED | {"deployments": ["smollm2/deployment-1"], "sentence": _NO_DRIVER}
PROMOTION_EVENT: dict[str, Any] = {
    "at": READY_AT,
    "code": "share_raised",
    "sentence": "25 % of the traffic goes to its 1 ready replica.",
    "actor": "Enginehouse",
    "candidate_id": "9k2m4pqw",
    "current_id": DEPLOYMENT["id"],
    "percent_before": 0,
    "percent_after": 25,
}
ANSWER_CHECK: dict[str, Any] = {
    "id": "7hq2vd8w",
    "candidate_id": "9k2m4pqw",
    "current_id": DEPLOYMENT["id"],
    "state": "finished",
    "outcome": "worse",
    "sentence": "0 of 1 answers are equal, and 100 % are to be. Different: prompt 1.",
    "created_at": CREATED_AT,
    "finished_at": READY_AT,
    "prompts": 1,
    "answers": [
        {
            "number": 1,
            "prompt": "What is the capital of France?",
            "is_equal": False,
            "differs_at": 5,
            "candidate": {
                "text": "Paris",
                "characters": 5,
                "error_message": "",
                "holds_to_schema": None,
            },
            "current": {
                "text": "Paris.",
                "characters": 6,
                "error_message": "",
                "holds_to_schema": None,
            },
        }
    ],
}
_CLEANUP = {"redeploy_on_promotion": False, "promotion_cleanup_strategy": "KEEP"}
ANSWER_GUARD = {
    "prompt_count": 1,
    "min_equal_percent": 90,
    "max_length_difference_percent": 20,
    "require_valid_schema": False,
    "action": "PAUSE",
    "prompts": ["What is the capital of France?"],
}
ENVIRONMENT_WANTED = {
    "name": "staging",
    "promotion_settings": _CLEANUP,
    "request_backpressure_settings": {"policy": "QUEUE_ON_FULL"},
}
ENVIRONMENT_CHANGE = {"promotion_settings": _CLEANUP}
ENVIRONMENT: dict[str, Any] = {
    "name": "production",
    "created_at": CREATED_AT,
    "model_id": MODEL["id"],
    "current_deployment": DEPLOYMENT,
    "candidate_deployment": None,
    "in_progress_promotion": None,
    "autoscaling_settings": AUTOSCALING,
    "autoscaling_schedules": None,
    "promotion_settings": _CLEANUP
    | {
        "rolling_deploy": False,
        "rolling_deploy_config": None,
        "ramp_up_while_promoting": False,
        "ramp_up_duration_seconds": 600,
        "canary_percent": None,
        "canary_by_header": False,
        "slo_guard": None,
        "answer_guard": None,
    },
    "instance_type": {"name": "H100"},
    "urls": MODEL["urls"],
    "request_backpressure_settings": {"policy": None},
}
ENVIRONMENT_PATCHED = {"environment": ENVIRONMENT, "status": "ACCEPTED", "message": "Stored."}
PROMOTE_TO_PRODUCTION = {
    "scale_down_previous_production": True,
    "preserve_env_instance_type": True,
}
PROMOTE = {
    "deployment_id": DEPLOYMENT["id"],
    "scale_down_previous_deployment": True,
    "preserve_env_instance_type": True,
}
SUCCESS = {"success": True}
CANCELLED = {"status": "CANCELED", "message": "The candidate takes no requests."}
USAGE_LINE = {
    "day": "2026-11-26",
    "id": "f4cprdpc",
    "name": "support-bot",
    "requests": 18_204,
    "prompt_tokens": 6_911_310,
    "completion_tokens": 2_004_877,
    "money": "41.250000",
    "extra_route_requests": 12,
}
USAGE_CSV = (
    "day,id,name,requests,prompt_tokens,completion_tokens,money,extra_route_requests\r\n"
    "2026-11-26,f4cprdpc,support-bot,18204,6911310,2004877,41.250000,12\r\n"
)
PRICE_WANTED = {"kind": "H100", "per_hour": "2.5000"}
PRICE = PRICE_WANTED | {"since": "2026-11-01T07:00:00Z", "set_by": ADA["email"]}
