"""Why a replica ended, where its engine did not say so itself."""

from collections.abc import Mapping, Sequence
from typing import Any

from controlplane.domain.device_users import DeviceUser, held_by_nobody_shown, in_use_by
from controlplane.domain.failures import Blame, Failure


def runner_killed() -> Failure:
    """Return the failure of a replica whose runner was killed, and its engine with it."""
    return Failure(
        code="EHN-RUNNER-KILLED",
        blame=Blame.MACHINE,
        sentence="The process that supervises this engine was killed, and the engine with it.",
        hint="Look for the out-of-memory killer in the kernel's log, or for whoever killed it.",
    )


def host_restarted() -> Failure:
    """Return the failure of a replica that ran before the machine restarted."""
    return Failure(
        code="EHN-REBOOT",
        blame=Blame.MACHINE,
        sentence="The machine restarted.",
        hint="Nothing to do: another replica takes its place.",
    )


def never_ready(seconds: float) -> Failure:
    """Return the failure of an engine that did nothing any more before it was ready."""
    return Failure(
        code="EHN-NEVER-READY",
        blame=Blame.MACHINE,
        sentence=f"The engine is not ready, and for {seconds:.0f} seconds it has logged, computed "
        "and read nothing.",
        hint="Read the deployment's logs: it waits for something that does not come.",
    )


def no_answer(seconds: float) -> Failure:
    """Return the failure of an engine that stopped answering."""
    return Failure(
        code="EHN-NO-ANSWER",
        blame=Blame.OURS,
        sentence=f"The engine did not answer its health check for {seconds:.0f} seconds.",
        hint="Nothing to do: it was ended, and another replica takes its place.",
    )


def no_free_port(sentence: str) -> Failure:
    """Return the failure of an engine for which no port is left."""
    return Failure(
        code="EHN-NO-PORT",
        blame=Blame.MACHINE,
        sentence=f"This host has no port for an engine: {sentence}.",
        hint="End what listens there, or give the agent another ENGINE_PORTS and enroll it again.",
    )


def not_started(sentence: str) -> Failure:
    """Return the failure of a replica whose runner could not be started."""
    return Failure(
        code="EHN-NOT-STARTED",
        blame=Blame.MACHINE,
        sentence=sentence,
        hint="Read the agent's log on that node.",
    )


def disk_full(folder: str) -> Failure:
    """Return the failure of a replica for which the agent's folder had no room."""
    return Failure(
        code="EHN-DISK-FULL",
        blame=Blame.MACHINE,
        sentence=f"The disk that holds `{folder}` on this node is full.",
        hint="Free space there, or point the agent's DATA_DIR at a larger disk.",
    )


class NoLauncher(Exception):
    """An order names a runtime that this agent cannot start; `failure` says so."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.sentence)
        self.failure = failure


def no_launcher(runtime: str) -> Failure:
    """Return the failure of a replica whose runtime this agent has no launcher for."""
    return Failure(
        code="EHN-NO-LAUNCHER",
        blame=Blame.MACHINE,
        sentence=f"The agent of this node cannot start the runtime `{runtime}`.",
        field="enginehouse.runtime",
        hint="Serve on a node whose agent has it (`VLLM_PYTHON` or `VLLM_IMAGE`, `TRTLLM_PYTHON` "
        "or `TRTLLM_IMAGE` name it), or set `enginehouse.runtime: native` and build again.",
    )


def device_taken(uuid: str, users: Sequence[DeviceUser]) -> Failure:
    """Return the failure of a replica whose GPU another process computes on."""
    return Failure(
        code="EHN-CARD-TAKEN",
        blame=Blame.MACHINE,
        sentence=in_use_by(f"GPU `{uuid}`", users),
        hint="End that process, or take the GPU out of the pool.",
    )


def device_memory_held(uuid: str, used_bytes: int) -> Failure:
    """Return the failure of a replica whose GPU's memory is taken by nobody."""
    return Failure(
        code="EHN-CARD-MEMORY",
        blame=Blame.MACHINE,
        sentence=held_by_nobody_shown(f"GPU `{uuid}`", used_bytes),
        hint="A process of another container may hold them; otherwise the driver has not given "
        "them back, and the machine has to restart.",
    )


def device_lost(reason: str) -> Failure:
    """Return the failure of a replica whose GPU does not answer."""
    return Failure(
        code="EHN-CARD-LOST",
        blame=Blame.MACHINE,
        sentence=f"The GPU cannot be asked whether it is free: {reason}.",
        hint="Look at the driver's messages in the kernel's log (Xid).",
    )


def not_rendered(sentence: str) -> Failure:
    """Return the failure of a replica for which no command can be written."""
    return Failure(
        code="EHN-NOT-RENDERED",
        blame=Blame.CONFIGURATION,
        sentence=f"The engine's command could not be written: {sentence}",
        hint="Check the config again and build a new revision.",
    )


def of_exit(record: Mapping[str, Any], last_line: str) -> Failure:
    """Return the failure that an exit record tells of, for an end that nobody asked for."""
    return Failure(
        code="EHN-ENDED",
        blame=Blame.MACHINE,
        sentence=_sentence(record),
        hint="Read the deployment's logs.",
        detail=last_line or None,
    )


def _sentence(record: Mapping[str, Any]) -> str:
    if record["phase"] == "lock":
        return f"Another process still holds the GPU (`{record['detail']}`)."
    if record["detail"]:
        return f"The engine could not be started: {record['detail']}."
    noun = "engine" if record["phase"] == "engine" else "preparation of the engine"
    if record["signal"] == "SIGKILL":
        return f"The {noun} was killed (SIGKILL); when nobody did it, memory ran out."
    if record["signal"]:
        return f"The {noun} was ended by {record['signal']}."
    return f"The {noun} ended with exit code {record['exit_code']}."
