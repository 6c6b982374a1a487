"""Why serving did not work, where the reason is ours to find and not the engine's to say."""

from collections.abc import Mapping, Sequence

from apps.fleet.models import Node
from apps.fleet.services.devices import NoRoom
from controlplane.domain.failures import Failure
from controlplane.domain.failures.registry import serving

_NAMED = 4


def no_room(refusals: Sequence[NoRoom], kind: str, pool: str, closed: Mapping[str, str]) -> Failure:
    """Return why no node takes the replica; `closed` has those that take nothing now, and why."""
    if not refusals:
        reasons = ", ".join(f"`{name}` is {why}" for name, why in [*closed.items()][:_NAMED])
        others = f" Of those that have one, {reasons}." if reasons else ""
        return serving.NO_NODE.failure(pool=pool, kind=kind, others=others)
    is_used_by_others = any(refused.is_used_by_others for refused in refusals)
    reason = serving.GPU_IN_USE if is_used_by_others else serving.NO_ROOM
    return reason.failure(reasons=" ".join(str(refused) for refused in refusals))


def backing_off(waiting: str, refusals: Sequence[NoRoom]) -> Failure:
    """Return until when the replica waits for nodes that failed to start it."""
    reasons = " ".join([waiting, *(str(refused) for refused in refusals)])
    return serving.BACKOFF.failure(reasons=reasons)


def elsewhere(node: Node, host: str) -> Failure:
    return serving.ADDRESS.failure(node=node.name, address=node.address, host=host)


def foreign_port(node: Node, port: int) -> Failure:
    return serving.PORT.failure(
        node=node.name, port=port, lowest=node.lowest_engine_port, highest=node.highest_engine_port
    )
