"""Failures as data: whose fault it was, one sentence, and what to change."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Blame(StrEnum):
    """Who has to act before a retry can work."""

    CONFIGURATION = "configuration"
    CHECKPOINT = "checkpoint"
    MACHINE = "machine"
    OURS = "ours"


@dataclass(frozen=True, kw_only=True)
class Failure:
    """Why a step, an engine or a fetch did not work, in words a user can act on."""

    code: str
    """Permanent name of the kind of failure, such as `EHF-GATED`."""
    blame: Blame
    sentence: str
    """What happened, in the user's own values."""
    field: str | None = None
    """Dotted path of the setting to change, where there is one."""
    hint: str | None = None
    """What to do next."""
    fix: Mapping[str, Any] | None = None
    """Dotted path -> value (None removes), to apply and retry."""
    detail: str | None = None
    """The line of output that this was read from; already redacted."""

    def to_json(self) -> dict[str, Any]:
        return {
            "code": self.code,
            "blame": self.blame.value,
            "sentence": self.sentence,
            "field": self.field,
            "hint": self.hint,
            "fix": dict(self.fix) if self.fix is not None else None,
            "detail": self.detail,
        }

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> "Failure":
        """Return the failure that `to_json` stored; fields of a newer version are ignored."""
        return cls(
            code=str(stored["code"]),
            blame=Blame(stored["blame"]),
            sentence=str(stored["sentence"]),
            field=stored.get("field"),
            hint=stored.get("hint"),
            fix=stored.get("fix"),
            detail=stored.get("detail"),
        )
