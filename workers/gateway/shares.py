"""Which deployment of an environment that rolls gets the next request: spread evenly, by no chance.

Each process counts for itself, so the shares hold in every one of them.
"""

from typing import NamedTuple

from workers.gateway.refusals import Refusal, Refused
from workers.gateway.snapshot import Model, Share

CANARY_HEADER = b"x-enginehouse-canary"
CLOSED_STATUSES = frozenset({"INACTIVE", "DEACTIVATING"})
"""Deactivated deployments answer 404. Source: hosted product, environments and promotion."""
_ALWAYS, _NEVER = b"always", b"never"


class CanaryWish(NamedTuple):
    """Where a request should rather go."""

    header: bytes = b""
    """What the client said of it."""
    before: str = ""
    """The deployment that it was read for, where it looks for a replica again."""


class Shares:
    """Remembers what each candidate is owed, in percent of a request."""

    def __init__(self) -> None:
        self._owed: dict[tuple[str, str], int] = {}

    def choose(self, model: Model, name: str, share: Share, wish: CanaryWish) -> str:
        """Return the id of the deployment that gets this request. Raises Refused."""
        current = model.environments[name]
        if wish.header and share.by_header:
            return _wished(wish.header, current, share)
        if wish.before in (current, share.candidate) and _serves(model, wish.before):
            return wish.before
        if not share.percent:
            return current
        chosen = share.candidate if self._is_candidates_turn(model.id, name, share) else current
        other = current if chosen == share.candidate else share.candidate
        if _serves(model, chosen):
            return chosen
        return other if _serves(model, other) else current

    def _is_candidates_turn(self, model_id: str, name: str, share: Share) -> bool:
        place = (f"{model_id} {share.candidate}", name)
        owed = self._owed.pop(place, 0) + share.percent
        self._owed[place] = owed - 100 if owed >= 100 else owed
        if len(self._owed) > _MOST_PLACES:  # the one that was asked least lately
            del self._owed[next(iter(self._owed))]
        return owed >= 100


def _wished(wish: bytes, current: str, share: Share) -> str:
    if wish == _ALWAYS:
        return share.candidate
    if wish == _NEVER:
        return current
    shown = wish[:40].decode("latin-1")
    raise Refused(
        Refusal(
            status=400,
            code="bad_request",
            error_code="client_error",
            message=f"`{CANARY_HEADER.decode()}` is `{shown}`. Send `always`, `never`, or leave "
            "it out.",
        )
    )


def _serves(model: Model, deployment_id: str) -> bool:
    """Whether the deployment is open and has replicas; a closed one may have some that leave."""
    deployment = model.deployments.get(deployment_id)
    if deployment is None or deployment.status in CLOSED_STATUSES:
        return False
    return bool(deployment.replicas or deployment.suspects)


_MOST_PLACES = 10_000
