"""What the address of a list asks for: words, a state, an order and a page, which stay in it."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar
from urllib.parse import urlencode

from django.core.paginator import Page, Paginator
from django.db.models import F, Model, QuerySet
from django.db.models.expressions import Combinable
from django.http import HttpRequest

PAGE_SIZE = 50
_LONGEST_WORDS = 200
Row = TypeVar("Row", bound=Model)
Item = TypeVar("Item")


@dataclass(frozen=True, kw_only=True)
class ListQuery:
    """The filters of a list; a state that the list does not know is none."""

    words: str
    state: str
    states: Sequence[str]
    sort: str = ""
    """A column's name, `-` before it where the list goes down; empty for the list's own order."""
    others: Mapping[str, str] = field(default_factory=dict)
    """What else the address asks of the page, which the list's links leave as it is."""
    anchor: str = ""
    """The id to come back to where the list is not the page's first."""

    @property
    def is_filtered(self) -> bool:
        return bool(self.words or self.state)

    @property
    def choices(self) -> Sequence[tuple[str, str]]:
        return [(state, state.replace("_", " ")) for state in self.states]

    @property
    def query(self) -> str:
        given = {"q": self.words, "state": self.state, **self.others, "sort": self.sort}
        return urlencode({name: value for name, value in given.items() if value})


def list_query_in(
    request: HttpRequest,
    *,
    states: Sequence[str] = (),
    sorts: Collection[str] = (),
    keeps: Sequence[str] = (),
    anchor: str = "",
) -> ListQuery:
    """Return the filters in the request's address, and the order where the list knows it.

    `keeps` names what else is in the address and stays there.
    """
    state, sort = request.GET.get("state", ""), request.GET.get("sort", "")
    words = request.GET.get("q", "").replace("\0", "").strip()[:_LONGEST_WORDS]
    return ListQuery(
        words=words,
        state=state if state in states else "",
        states=states,
        sort=sort if sort.removeprefix("-") in sorts else "",
        others={name: request.GET[name] for name in keeps if request.GET.get(name)},
        anchor=anchor,
    )


def sorted_rows(
    rows: QuerySet[Row],
    sort: str,
    columns: Mapping[str, str | Combinable],
    *,
    otherwise: str = "",
) -> QuerySet[Row]:
    """Return the rows by what is behind the column that the address names, empty ones last.

    Without one by `otherwise`, a column the same way, or in the order that they have. Equals keep
    one order, page after page.
    """
    sort_by = sort if sort.removeprefix("-") in columns else otherwise
    if not sort_by:
        return rows
    column = columns[sort_by.removeprefix("-")]
    by: Any = F(column) if isinstance(column, str) else column
    goes_down = sort_by.startswith("-")
    way = by.desc(nulls_last=True) if goes_down else by.asc(nulls_last=True)
    return rows.order_by(way, "-pk" if goes_down else "pk")


def sorted_items(
    items: Sequence[Item], sort: str, columns: Mapping[str, Callable[[Item], Any]]
) -> Sequence[Item]:
    """Return the few items of a page by the column that the address names, empty ones last."""
    value_of = columns.get(sort.removeprefix("-"))
    if value_of is None:
        return items
    known = [each for each in items if value_of(each) is not None]
    unknown = [each for each in items if value_of(each) is None]
    return [*sorted(known, key=value_of, reverse=sort.startswith("-")), *unknown]


def sorted_query(list_query: ListQuery, column: str) -> str:
    """Return the address that sorts by the column, the other way round where it does already."""
    return replace(list_query, sort=f"-{column}" if list_query.sort == column else column).query


def page_in(request: HttpRequest, rows: QuerySet[Row], size: int = PAGE_SIZE) -> "Page[Row]":
    """Return the page that the request's address names, the last one where it is past the end."""
    return Paginator(rows, size).get_page(request.GET.get("page"))
