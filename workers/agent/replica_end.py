"""Why a replica ended: by its exit record and log, or by what is left where there is no record."""

from collections.abc import Mapping
from typing import Any

from controlplane.domain.failures import Failure
from controlplane.domain.failures.registry import serving
from controlplane.domain.lifecycle import ReplicaState
from controlplane.domain.runtimes import RUNTIMES
from controlplane.domain.runtimes.engine_log import guess_log
from workers.agent import failures
from workers.agent.capped_log import tail
from workers.agent.folders import ReplicaFolder
from workers.agent.identity import ProcessIdentity, boot_id
from workers.agent.settings import Settings
from workers.full_disk import is_full

_TAIL_BYTES = 64 * 1024


def ended(
    folder: ReplicaFolder, record: Mapping[str, Any], desired: Mapping[str, Any]
) -> tuple[ReplicaState, Failure | None]:
    if record["requested"]:
        return ReplicaState.STOPPED, None
    stored = folder.read("failure") or record.get("failure")
    if stored:
        return ReplicaState.FAILED, Failure.from_json(stored)
    return ReplicaState.FAILED, _explained(folder, record, desired)


def _explained(
    folder: ReplicaFolder, record: Mapping[str, Any], desired: Mapping[str, Any]
) -> Failure:
    text = tail(folder.log, _TAIL_BYTES)
    runtime = RUNTIMES.get(str(desired.get("runtime")))
    # A signal from outside leaves no trace in the log: older lines would mislead.
    spec, known = desired.get("spec"), None
    if runtime and not record["signal"]:
        known = runtime.failures.explain(text, spec) or guess_log(text, spec)
    lines = text.strip().splitlines()
    failure: Failure = known or failures.of_exit(record, lines[-1][:300] if lines else "")
    return failure


def loss(folder: ReplicaFolder, runner: ProcessIdentity | None, settings: Settings) -> Failure:
    if is_full(settings.replicas):
        return serving.DISK_FULL.failure(folder=str(settings.home))
    if runner is None:
        words = tail(folder.path / "runner.log", 300).strip()
        return serving.NOT_STARTED.failure(reason=f"The runner did not start. {words}".strip())
    if runner.boot_id != boot_id():
        return serving.REBOOT.failure()
    return serving.RUNNER_KILLED.failure()
