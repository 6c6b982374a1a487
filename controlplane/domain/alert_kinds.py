"""The kinds of alerts by name, as REST tells them."""

from enum import StrEnum


class AlertKindName(StrEnum):
    DEPLOYMENT_DOWN = "deployment_down"
    DEPLOYMENT_SHORT = "deployment_short"
    ERROR_SHARE = "error_share"
    FIRST_TOKEN = "first_token"
    KV_CACHE_FULL = "kv_cache_full"
    GPU_MEMORY = "gpu_memory"
    LOOKAHEAD_HURTS = "lookahead_hurts"
    BUILD_FAILED = "build_failed"
    BUILD_WAITING = "build_waiting"
    SECRET_EXPIRY = "secret_expiry"
    SPEND_LIMIT = "spend_limit"
    BUDGET = "budget"
    NODE_SILENT = "node_silent"
    DEVICE_MEMORY = "device_memory"
    DISK_FULL = "disk_full"
    ARTIFACT_STORE = "artifact_store"
    DATABASE_FULL = "database_full"
    CLOCK_APART = "clock_apart"
