from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, kw_only=True)
class StepResult:
    """What a step found, and the digests of files that it hashed on the way."""

    values: dict[str, Any]
    digests: Mapping[str, str] = field(default_factory=dict)
    """Path below the output folder -> sha256."""
