"""What the child says of a file; known on both sides, so without the libraries that read it."""

from dataclasses import asdict, dataclass, field
from typing import Any

DISK_FULL_STATUS = 28
"""The child's exit status when it found no room."""


@dataclass(kw_only=True)
class Inspection:
    """What a file holds; `rows` counts all of them, empty ones included."""

    column: str = ""
    """`text` or `messages`."""
    rows: int = 0
    empty_rows: int = 0
    short_rows: int = 0
    head: list[str] = field(default_factory=list)
    """The beginnings of the first rows with text, as people read them."""
    normalized: bool = False
    """Whether the rows were written anew, one object per line."""

    @property
    def usable_rows(self) -> int:
        return self.rows - self.empty_rows

    def to_json(self) -> dict[str, Any]:
        return asdict(self)
