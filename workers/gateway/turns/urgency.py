"""How urgent a client says that its request is. Source: RFC 9218, the header `priority`."""

import re
from typing import Self

_URGENCY = re.compile(rb"(?:^|[,\s])u=([0-7])(?=$|[,;\s])")


class Urgency(int):
    """0 is the most urgent and 7 the least; 3 is what says nothing. From 4 on it is background."""

    @classmethod
    def of(cls, header: bytes | None) -> Self:
        """Return what the header says; as RFC 9218 has it, what cannot be read says nothing."""
        match = None if header is None else _URGENCY.search(header)
        return cls(match[1]) if match else cls(3)

    @property
    def band(self) -> int:
        """Return what it waits with: up to 3 all together, background by its own number."""
        return max(3, self)


USUAL = Urgency(3)
