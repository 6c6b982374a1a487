"""What the address of a list asks for: words, a state and a page, all of which stay in it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar
from urllib.parse import urlencode

from django.core.paginator import Page, Paginator
from django.db.models import Model, QuerySet
from django.http import HttpRequest

PAGE_SIZE = 50
_LONGEST_WORDS = 200
Row = TypeVar("Row", bound=Model)


@dataclass(frozen=True, kw_only=True)
class Asked:
    """The filters of a list; a state that the list does not know is none."""

    words: str
    state: str
    states: Sequence[str]

    @property
    def is_filtered(self) -> bool:
        return bool(self.words or self.state)

    @property
    def choices(self) -> Sequence[tuple[str, str]]:
        """Each state with its words."""
        return [(state, state.replace("_", " ")) for state in self.states]

    @property
    def query(self) -> str:
        """The filters as in an address, for the links to other pages."""
        given = {"q": self.words, "state": self.state}
        return urlencode({name: value for name, value in given.items() if value})


def asked_in(request: HttpRequest, *, states: Sequence[str] = ()) -> Asked:
    """Return the filters in the request's address."""
    state = request.GET.get("state", "")
    words = request.GET.get("q", "").replace("\0", "").strip()[:_LONGEST_WORDS]
    return Asked(words=words, state=state if state in states else "", states=states)


def page_in(request: HttpRequest, rows: QuerySet[Row], size: int = PAGE_SIZE) -> "Page[Row]":
    """Return the page that the request's address names, the last one where it is past the end."""
    return Paginator(rows, size).get_page(request.GET.get("page"))
