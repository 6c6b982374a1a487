"""What may see the bytes of a file in the pass that digests them."""

from collections.abc import Callable
from typing import Protocol


class Look(Protocol):
    """Takes in a file from its first byte to its last, as a hash does."""

    def update(self, chunk: bytes, /) -> None:
        """Take in the next bytes."""


Looks = Callable[[str], Look | None]
"""Path in the checkpoint -> what looks at it; asked anew for each pass."""


def no_look(_path: str) -> None:
    """Look at nothing."""
