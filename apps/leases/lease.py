"""A lease as its holder has it: a timed claim with a fencing token."""

from dataclasses import dataclass, field

from apps.leases.kinds import LeaseKind

LEASE_SECONDS = 10.0
RENEW_SECONDS = 3.0
SEND_AGAIN_SECONDS = 5.0
"""How long a message may lie unread, or be lost, before the sweep looks at its row."""


@dataclass(frozen=True, kw_only=True)
class Lease:
    """What a worker holds: the token of its writes, and the secret that redeems secrets."""

    kind: LeaseKind = field(repr=False)
    id: str
    token: int
    secret: str = field(repr=False)

    @property
    def marker(self) -> str:
        """What the environment of this work's processes names, so that they can be found."""
        return f"{self.kind.name}/{self.id}/{self.token}"


@dataclass(frozen=True, kw_only=True)
class Renewal:
    is_cancel_requested: bool


class LeaseLost(Exception):
    """Another worker has the work, or may have it: the result of this one is dropped."""
