"""Which colour and word every state has, once for all pages."""

from dataclasses import dataclass
from enum import StrEnum

from controlplane.domain.lifecycle import BuildState, DeploymentState, ReplicaState, StepState
from controlplane.domain.runtimes.capability import Support


class Tone(StrEnum):
    """The class that paints a state; `SYMBOLS` stands for it where there is no colour."""

    OK = "ok"
    WARN = "warn"
    ERROR = "error"
    RUNNING = "running"
    IDLE = "idle"


SYMBOLS = {
    Tone.OK: "✓",
    Tone.WARN: "!",
    Tone.ERROR: "✕",
    Tone.RUNNING: "●",
    Tone.IDLE: "○",
}


@dataclass(frozen=True, kw_only=True)
class Shown:
    tone: Tone
    word: str

    @property
    def symbol(self) -> str:
        return SYMBOLS[self.tone]

    @property
    def is_moving(self) -> bool:
        """Whether the page should look again soon."""
        return self.tone is Tone.RUNNING


_TONES: dict[Tone, tuple[StrEnum | str, ...]] = {
    Tone.OK: (
        BuildState.SUCCEEDED,
        StepState.FINISHED,
        StepState.REUSED,
        DeploymentState.ACTIVE,
        ReplicaState.READY,
        "live",
        "resolved",
        Support.NATIVE,
    ),
    Tone.RUNNING: (
        BuildState.FETCHING,
        BuildState.INSPECTING,
        BuildState.CALIBRATING,
        BuildState.GATING,
        BuildState.PACKAGING,
        BuildState.TESTING,
        StepState.RUNNING,
        DeploymentState.BUILDING,
        DeploymentState.DEPLOYING,
        DeploymentState.LOADING_MODEL,
        DeploymentState.UPDATING,
        DeploymentState.WAKING_UP,
        DeploymentState.DEACTIVATING,
        ReplicaState.ORDERED,
        ReplicaState.STARTING,
        ReplicaState.LOADING,
        "in_progress",
    ),
    Tone.WARN: (
        DeploymentState.UNHEALTHY,
        ReplicaState.DRAINING,
        "cordoned",
        "degraded",
        "drained",
        "ejected",
        Support.EMULATED,
        "expired",
        "not_confirmed",
        "warning",
        "webhook_failed",
    ),
    Tone.ERROR: (
        BuildState.FAILED,
        DeploymentState.BUILD_FAILED,
        DeploymentState.DEPLOY_FAILED,
        ReplicaState.LOST,
        "silent",
        "critical",
        "error",
        Support.REFUSED,
    ),
    Tone.IDLE: (
        BuildState.QUEUED,
        BuildState.CANCELLED,
        StepState.WAITING,
        DeploymentState.BUILD_STOPPED,
        DeploymentState.SCALED_TO_ZERO,
        DeploymentState.INACTIVE,
        ReplicaState.STOPPED,
        "canceled",
        "hint",
        "pending",
        Support.UNTESTED,
    ),
}
_TONE_OF = {str(state): tone for tone, states in _TONES.items() for state in states}
# A queued build has no colour yet, but it will move without anyone touching the page.
_MOVING_WITHOUT_COLOUR = frozenset({BuildState.QUEUED})


def shown(state: str) -> Shown:
    """Return how `state` appears; an unknown one is shown as it is, without colour."""
    return Shown(tone=_TONE_OF.get(state, Tone.IDLE), word=state.replace("_", " "))


def is_moving(state: str) -> bool:
    """Return whether `state` changes by itself soon."""
    return shown(state).is_moving or state in _MOVING_WITHOUT_COLOUR


def title(state: str, rest: str) -> str:
    """Return a tab title that begins with the state: `✕ failed · build 41`."""
    look = shown(state)
    return f"{look.symbol} {look.word} · {rest}"
