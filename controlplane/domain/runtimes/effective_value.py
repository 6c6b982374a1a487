from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class EffectiveValue:
    field: str
    asked: Any
    effective: Any
    reason: str

    def to_json(self) -> dict[str, Any]:
        """Return the stable form that REST, commands and rows have."""
        return {
            "field": self.field,
            "asked": self.asked,
            "effective": self.effective,
            "reason": self.reason,
        }
