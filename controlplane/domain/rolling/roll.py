"""What is known of a roll between two steps, and what a person may ask of it."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import Any, Self


class Direction(StrEnum):
    UP = "up"
    DOWN = "down"


class Status(StrEnum):
    """Source: the hosted product's management API, InProgressPromotionStatusV1."""

    RELEASING = "RELEASING"
    RAMPING_UP = "RAMPING_UP"
    RAMPING_DOWN = "RAMPING_DOWN"
    PAUSED = "PAUSED"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    CANCELED = "CANCELED"


class Pause(StrEnum):
    BY_HAND = "by_hand"
    CANARY = "canary"
    GUARD = "guard"


@dataclass(frozen=True, kw_only=True)
class Roll:
    """How far an environment is on its way; what is counted are replicas and percent."""

    total: int
    """As many replicas as carry the traffic."""
    moved: int = 0
    """Of them, those whose traffic has gone to the candidate for good: so many ended in return."""
    percent: int = 0
    """Share of the requests that the candidate gets."""
    direction: Direction = Direction.UP
    held_since: float | None = None
    """Since when every live gateway has worked by that share."""
    paused: Pause | None = None
    why_paused: str = ""
    is_canary_over: bool = False
    returns_because: str = ""
    """Why it goes back, where nobody cancelled it."""

    @property
    def status(self) -> Status:
        if self.paused is not None:
            return Status.PAUSED
        if self.direction is Direction.DOWN:
            return Status.RAMPING_DOWN
        return Status.RAMPING_UP if self.percent else Status.RELEASING

    @classmethod
    def of(cls, fields: Mapping[str, Any]) -> Self:
        """Return it as `to_json` wrote it."""
        pause = fields.get("paused")
        shape = {"direction": Direction(fields["direction"]), "paused": pause and Pause(pause)}
        return cls(**{**fields, **shape})

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def paused(roll: Roll, why: Pause = Pause.BY_HAND, sentence: str = "") -> Roll:
    """Return the roll as it stays where it is until someone resumes it."""
    return replace(roll, paused=why, why_paused=sentence)


def resumed(roll: Roll) -> Roll:
    """Return the roll as it goes on; one that held as a canary does not hold again."""
    is_over = roll.is_canary_over or roll.paused is Pause.CANARY
    return replace(roll, paused=None, why_paused="", is_canary_over=is_over)


def returning(roll: Roll, because: str = "") -> Roll:
    """Return the roll on its way back, to which a pause does not apply any more."""
    if roll.direction is Direction.DOWN:
        return replace(resumed(roll), returns_because=because or roll.returns_because)
    moved = max(roll.moved, -(-roll.percent * roll.total // 100))
    return replace(resumed(roll), direction=Direction.DOWN, moved=moved, returns_because=because)
