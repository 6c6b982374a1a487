"""Why a replica ended, where its engine did not say so itself."""

from collections.abc import Mapping, Sequence
from typing import Any

from controlplane.domain.device_users import DeviceUser, held_by_nobody_shown, in_use_by
from controlplane.domain.failures import Failure
from controlplane.domain.failures.kind import FailureKind
from controlplane.domain.failures.raised import RaisedFailure
from controlplane.domain.failures.registry import serving


class NoLauncher(RaisedFailure):
    """An order names a runtime that this agent cannot start; `failure` says so."""


def device_taken(uuid: str, users: Sequence[DeviceUser]) -> Failure:
    return serving.GPU_TAKEN.failure(in_use=in_use_by(f"GPU `{uuid}`", users))


def device_memory_held(uuid: str, used_bytes: int) -> Failure:
    return serving.GPU_MEMORY.failure(held=held_by_nobody_shown(f"GPU `{uuid}`", used_bytes))


def of_exit(record: Mapping[str, Any], last_line: str) -> Failure:
    return _kind_of_exit(record).failure(
        what="engine" if record["phase"] == "engine" else "preparation of the engine",
        reason=record["detail"],
        signal=record.get("signal"),
        exit_code=record.get("exit_code"),
        detail=last_line or None,
    )


def _kind_of_exit(record: Mapping[str, Any]) -> FailureKind:
    if record["phase"] == "lock":
        return serving.GPU_LOCKED
    if record["detail"]:
        return serving.NOT_EXECUTED
    if record["signal"] == "SIGKILL":
        return serving.ENGINE_KILLED
    return serving.ENDED_BY_SIGNAL if record["signal"] else serving.ENDED
