"""Which node is tried first for a new replica, and the words for it."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType

from apps.deployments.models import FailedStarts
from apps.fleet.models import Node

_NAMED = 4


@dataclass(frozen=True, kw_only=True)
class Candidate:
    node: Node
    replicas: int
    """Of the deployment, there now."""
    failed: FailedStarts | None = None

    @property
    def failures(self) -> int:
        return self.failed.count if self.failed else 0

    def waits(self, now: datetime) -> bool:
        """Return whether it is passed over still."""
        return self.failed is not None and self.failed.retry_at > now


def ranked(
    nodes: Iterable[Node], here: Sequence[str], failed: Mapping[str, FailedStarts]
) -> list[Candidate]:
    """Return the nodes, first those that never failed, and of them with the fewest replicas.

    `here` has the node's id of every replica of the deployment.
    """
    nodes_ranked = [
        Candidate(node=each, replicas=here.count(each.id), failed=failed.get(each.id))
        for each in nodes
    ]
    return sorted(nodes_ranked, key=lambda each: (each.failures, each.replicas, each.node.name))


def placement_words(
    chosen: Candidate,
    every: Sequence[Candidate],
    full: Collection[str],
    closed: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """Return why the node was chosen and which were passed over; `full` are ids without room.

    `closed` has the names of nodes that take nothing now, and why.
    """
    words = f"`{chosen.node.name}` {_merit(chosen, every, full)}."
    passed = [
        f"`{each.node.name}` ({_fault(each, full)})"
        for each in every
        if each is not chosen and (each.node.id in full or each.failures > chosen.failures)
    ]
    passed += [f"`{name}` ({why})" for name, why in closed.items()]
    return f"{words} Passed over: {named(passed)}." if passed else words


def waiting_words(waiting: Sequence[Candidate]) -> str:
    """Return which nodes are passed over, until when, and why."""
    return " ".join(
        f"`{each.node.name}` {_failed(each.failed)} and is tried again at "
        f"{clock_time(each.failed.retry_at)}. It said: {_failed_starts_words(each.failed)}"
        for each in waiting[:_NAMED]
        if each.failed
    ) + (f" So do {len(waiting) - _NAMED} more." if len(waiting) > _NAMED else "")


def clock_time(moment: datetime) -> str:
    return f"{moment:%H:%M:%S} UTC"


def named(words: Sequence[str]) -> str:
    """Return the first few of them, and how many more there are."""
    more = f" and {len(words) - _NAMED} more" if len(words) > _NAMED else ""
    return ", ".join(words[:_NAMED]) + more


def _merit(chosen: Candidate, every: Sequence[Candidate], full: Collection[str]) -> str:
    if len(every) == 1:
        words = "is the only node that may take it"
    elif len(every) - len(full) == 1:
        words = "is the only node with room"
    else:
        rivals = any(each.failures > chosen.failures for each in every)
        those = "those with room that failed least" if rivals else "those with room"
        words = f"has the fewest replicas of this deployment ({chosen.replicas}) of {those}"
    return f"{words}; it {_failed(chosen.failed)}" if chosen.failed else words


def _fault(passed: Candidate, full: Collection[str]) -> str:
    return "no room" if passed.node.id in full else _failed(passed.failed)


def _failed(failed: FailedStarts | None) -> str:
    count = failed.count if failed else 0
    return f"failed to start it {'once' if count == 1 else f'{count} times in a row'}"


def _failed_starts_words(failed: FailedStarts) -> str:
    return str((failed.failure or {}).get("sentence") or "nothing.")
