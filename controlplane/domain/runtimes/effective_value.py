from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class EffectiveValue:
    field: str
    asked: Any
    effective: Any
    reason: str

    def to_json(self) -> dict[str, Any]:
        return {
            "field": self.field,
            "asked": self.asked,
            "effective": self.effective,
            "reason": self.reason,
        }
