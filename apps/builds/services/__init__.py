"""Writes of builds, by who makes them: people's requests, the holder of a lease, the sweep."""

from apps.builds.services.artifacts import (
    artifact_of_inputs,
    build_succeed,
    package_of_artifact,
)
from apps.builds.services.claims import build_claim, held_build
from apps.builds.services.deleting import artifact_delete
from apps.builds.services.devices import DeviceNeed, build_devices_claim, build_devices_release
from apps.builds.services.fixing import FixApplied, build_apply_fix
from apps.builds.services.measuring import Measured, step_measure
from apps.builds.services.progress import (
    Progress,
    build_cancelled,
    build_enter,
    build_fail,
    step_finish,
    step_log,
    step_log_owner,
    step_progress,
    step_refuse,
    step_reuse,
    step_start,
    step_wait,
)
from apps.builds.services.requests import build_cancel, build_create, build_promote, build_retry
from apps.builds.services.reuse import ReuseState, build_explain_reuse
from apps.builds.services.store_check import store_checked
from apps.builds.services.sweeping import Sweep, builds_sweep

__all__ = [
    "DeviceNeed",
    "FixApplied",
    "Measured",
    "Progress",
    "ReuseState",
    "Sweep",
    "artifact_delete",
    "artifact_of_inputs",
    "build_apply_fix",
    "build_cancel",
    "build_cancelled",
    "build_claim",
    "build_create",
    "build_devices_claim",
    "build_devices_release",
    "build_enter",
    "build_explain_reuse",
    "build_fail",
    "build_promote",
    "build_retry",
    "build_succeed",
    "builds_sweep",
    "held_build",
    "package_of_artifact",
    "step_finish",
    "step_log",
    "step_log_owner",
    "step_measure",
    "step_progress",
    "step_refuse",
    "step_reuse",
    "step_start",
    "step_wait",
    "store_checked",
]
