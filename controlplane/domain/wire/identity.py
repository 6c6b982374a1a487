"""What says of a running engine whose it is: its runner tells it, and gateways compare it.

Gateways ask only where a replica's node is silent. Nothing in it is secret: ids, and the id under
which the machine's kernel has run since it was started.
"""

import json
from dataclasses import dataclass

from controlplane.domain.json_text import read_json

IDENTITY_PATH = "/identity"
LONGEST_IDENTITY_BYTES = 1024


@dataclass(frozen=True, kw_only=True, slots=True)
class Identity:
    """Which replica an engine is, of which deployment and generation, in which run of its host."""

    deployment_id: str
    replica_id: str
    generation: int
    boot_id: str

    def to_json(self) -> bytes:
        return json.dumps({name: getattr(self, name) for name in self.__slots__}).encode()

    def is_in(self, content: bytes) -> bool:
        """Return whether that is the whole answer of this very engine's runner."""
        try:
            content_read = read_json(content)
        except ValueError:
            return False
        return bool(content_read == {name: getattr(self, name) for name in self.__slots__})
