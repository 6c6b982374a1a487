"""What kinds of work there are, as the apps that own them describe them."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from django.conf import settings
from django.db.models import Q
from django.utils.module_loading import import_string

from apps.leases.models import Leased

Columns = Mapping[str, Any]


def _nothing(_ids: Collection[str]) -> None:
    return None


def _no_tidying() -> None:
    return None


def _no_secrets(_row: Any) -> Mapping[str, str]:
    return {}


@dataclass(frozen=True, kw_only=True)
class LeaseKind:
    """One kind of work: where its rows are, what they say in each state, and who is to do it."""

    name: str
    """In addresses, marks of processes and messages: `build`."""
    model: type[Leased]
    task: str
    """The Celery task that carries it out, given `<name>_id`."""
    queue_of: Callable[[Any], str]
    """The queue of one row."""
    most_claims: int
    """How often it is begun; work that ends its worker each time must not go round for ever.

    What a worker that is being stopped hands over does not count.
    """
    queue_columns: tuple[str, ...] = ()
    """The columns that decide it."""
    secrets_of: Callable[[Any], Mapping[str, str]] = _no_secrets
    """The values that the holder of a row's lease may have, by name."""
    is_open: Q
    """Which rows are to be worked on, or are being: those that have not ended."""
    may_be_claimed: Q = field(default_factory=Q)
    """Which of them a worker may take."""
    waiting: Columns = field(default_factory=dict)
    """What a row says while nobody holds it; empty where that is no state of its own."""
    claimed: Columns = field(default_factory=dict)
    """What it says from the moment that someone does."""
    since: str = "created_at"
    """The column that tells since when the work is wanted."""
    cancel_column: str | None = None
    """The column that holds when its end was asked for, where people may ask."""
    cancelled: Columns = field(default_factory=dict)
    """What a row says that was to end so and lost its worker: nobody claims it again."""
    cancel_parts: Callable[[Collection[str]], None] = _nothing
    """Ends what such rows consist of, in the transaction that ends them."""
    let_go: Callable[[Collection[str]], None] = _nothing
    """Gives back what rows of these ids held, in the transaction that takes them from a holder."""
    tidy: Callable[[], object] = _no_tidying
    """Runs in each sweep before rows are sent again: forgets what is old."""
    given_up: Callable[[], Columns] = dict
    """What a row says after so many claims."""
    end_parts: Callable[[Collection[str]], None] = _nothing
    """Ends what rows of these ids consist of, in the transaction that gives them up."""
    related: tuple[str, ...] = ()
    """What is read along with a row that is redeemed."""
    most_looked_at: int | None = None
    """How many waiting rows a sweep looks at, the oldest, where tens of thousands may wait."""

    @property
    def id_argument(self) -> str:
        return f"{self.name}_id"

    @property
    def table(self) -> str:
        return str(self.model._meta.db_table)


@cache
def judged_while() -> Callable[[float], Q]:
    """Return what tells whether the database could be asked for so many seconds up to now."""
    judge: Callable[[float], Q] = import_string(settings.LEASES_JUDGED_WHILE)
    return judge


@cache
def lease_kinds() -> Mapping[str, LeaseKind]:
    kinds: list[LeaseKind] = [import_string(place) for place in settings.LEASE_KINDS]
    return {kind.name: kind for kind in kinds}
