"""The ledger of who holds which card: a GPU is held whole, a CPU is shared by memory."""

from collections.abc import Sequence
from datetime import timedelta

from django.db import transaction
from django.db.models.functions import Now
from django.utils import timezone

from apps.fleet.models import Card, CardLease, Node

ENDED_KEPT = timedelta(days=7)


class NoRoom(Exception):
    """The node has no such cards free; the text says what was asked and what there is."""


@transaction.atomic
def cards_claim(
    *, holder: str, node: Node, kind: str, count: int, memory_bytes: int
) -> tuple[Card, ...]:
    """Return the `count` cards of `kind` that `holder` now has on `node`; a repeat changes nothing.

    `memory_bytes` is what is needed on each card. Raises NoRoom.
    """
    present = list(
        Card.objects.filter(node=node, kind=kind, is_present=True)
        .order_by("index")
        .select_for_update()
    )
    held = _held_by(holder, present)
    if held:
        return held
    free = [card for card in present if _has_room(card, memory_bytes)]
    if len(free) < count:
        raise NoRoom(_no_room(node, kind, count, memory_bytes, present, free))
    chosen = free[:count]
    CardLease.objects.bulk_create(
        CardLease(card=card, holder=holder, memory_bytes=memory_bytes) for card in chosen
    )
    return tuple(chosen)


def cards_release(*, holder: str) -> None:
    """Give back every card that `holder` has; a repeat changes nothing."""
    CardLease.objects.filter(holder=holder, released_at=None).update(released_at=Now())


def card_leases_prune() -> int:
    """Return how many claims ended so long ago that nobody asks for them."""
    return CardLease.objects.filter(released_at__lt=timezone.now() - ENDED_KEPT).delete()[0]


def free_of(card: Card, live_leases: Sequence[CardLease]) -> int:
    """Return how much of the card may still be claimed beside these claims."""
    if card.is_shared:
        return max(0, card.memory_bytes - sum(lease.memory_bytes for lease in live_leases))
    return 0 if live_leases or not card.is_clean else card.memory_bytes


def free_bytes(card: Card) -> int:
    """Return how much of the card may still be claimed now."""
    return free_of(card, list(CardLease.objects.filter(card=card, released_at=None)))


def _held_by(holder: str, cards: Sequence[Card]) -> tuple[Card, ...]:
    held = set(
        CardLease.objects.filter(holder=holder, released_at=None, card__in=cards).values_list(
            "card_id", flat=True
        )
    )
    return tuple(card for card in cards if card.id in held)


def _has_room(card: Card, memory_bytes: int) -> bool:
    return memory_bytes <= free_bytes(card)


def _no_room(
    node: Node, kind: str, count: int, memory_bytes: int, present: list[Card], free: list[Card]
) -> str:
    largest = max((free_bytes(card) for card in present), default=0)
    return (
        f"Node `{node.name}` has {len(free)} of {len(present)} `{kind}` cards with "
        f"{_gib(memory_bytes)} free, and {count} are needed; the most free on one is "
        f"{_gib(largest)}."
    )


def _gib(count_bytes: int) -> str:
    return f"{count_bytes / 1024**3:.1f} GiB"
