"""What the address of a list asks for: words, a state, an order and a page, which stay in it."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar
from urllib.parse import urlencode

from django.core.paginator import Page, Paginator
from django.db.models import F, Model, QuerySet
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
    sort: str = ""
    """A column's name, `-` before it where the list goes down; empty for the list's own order."""

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
        given = {"q": self.words, "state": self.state, "sort": self.sort}
        return urlencode({name: value for name, value in given.items() if value})


def asked_in(
    request: HttpRequest, *, states: Sequence[str] = (), sorts: Collection[str] = ()
) -> Asked:
    """Return the filters in the request's address, and the order where the list knows it."""
    state, sort = request.GET.get("state", ""), request.GET.get("sort", "")
    words = request.GET.get("q", "").replace("\0", "").strip()[:_LONGEST_WORDS]
    return Asked(
        words=words,
        state=state if state in states else "",
        states=states,
        sort=sort if sort.removeprefix("-") in sorts else "",
    )


def sorted_rows(
    rows: QuerySet[Row], sort: str, columns: Mapping[str, str], *, otherwise: str
) -> QuerySet[Row]:
    """Return the rows by the field behind the column that the address names, empty ones last.

    Without one by `otherwise`, a column the same way. Equals keep one order, page after page.
    """
    wanted = sort if sort.removeprefix("-") in columns else otherwise
    field = F(columns[wanted.removeprefix("-")])
    goes_down = wanted.startswith("-")
    way = field.desc(nulls_last=True) if goes_down else field.asc(nulls_last=True)
    return rows.order_by(way, "-pk" if goes_down else "pk")


def sorted_query(asked: Asked, column: str) -> str:
    """Return the address that sorts by the column, the other way round where it does already."""
    return replace(asked, sort=f"-{column}" if asked.sort == column else column).query


def page_in(request: HttpRequest, rows: QuerySet[Row], size: int = PAGE_SIZE) -> "Page[Row]":
    """Return the page that the request's address names, the last one where it is past the end."""
    return Paginator(rows, size).get_page(request.GET.get("page"))
