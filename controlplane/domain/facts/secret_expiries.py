from dataclasses import dataclass
from datetime import date


@dataclass(frozen=True, kw_only=True)
class SecretExpiry:
    """When a stored secret ends; `days_left` are whole days, below nought once it has."""

    name: str
    on: date
    days_left: int
