"""Lists by cursor, stable while rows come and go."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from django.db.models import Model, QuerySet
from rest_framework import serializers

from apps.rest.cursors import Order
from apps.rest.examples import shown_as
from apps.rest.serializers import StrictSerializer

Row = TypeVar("Row", bound=Model)


class PageQuery(StrictSerializer):
    """Which part of a list: at most `limit` rows, after those that `cursor` has seen."""

    limit = serializers.IntegerField(
        min_value=1, max_value=1000, default=50, help_text="At most so many rows."
    )
    cursor = serializers.CharField(
        required=False,
        max_length=2_000,
        allow_blank=True,
        help_text="Where the part begins: `pagination.cursor` of the part before.",
    )


class ListQuery(PageQuery):
    """Which part of a list that comes whole, up to 1,000 rows, where nothing is said."""

    limit = serializers.IntegerField(
        min_value=1, max_value=1000, default=1000, help_text="At most so many rows."
    )


@shown_as({"has_more": True, "cursor": "WyIyMDI2LTExLTI3VDE2OjQwOjAyKzAwOjAwIiwgIjJqdDdhNGF4Il0="})
class Pagination(serializers.Serializer[Any]):
    """Whether there is more, and where it begins."""

    has_more = serializers.BooleanField(help_text="Whether there are more rows.")
    cursor = serializers.CharField(
        allow_null=True, help_text="What to send as `cursor` for the next part; null at the end."
    )


@dataclass(frozen=True, kw_only=True)
class Page(Generic[Row]):
    """One part of a list; `cursor` leads to the next."""

    rows: Sequence[Row]
    cursor: str | None

    def to_json(
        self,
        shape: type[serializers.BaseSerializer[Any]],
        *,
        under: str = "items",
        context: dict[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Return the rows, each in `shape`, under their name, and the pagination beside."""
        return {
            under: shape(self.rows, many=True, context=context or {}).data,
            "pagination": {"has_more": self.cursor is not None, "cursor": self.cursor},
        }


def page_of(
    rows: QuerySet[Row], *, limit: int = 50, cursor: str | None = None, by: str = "-created_at"
) -> Page[Row]:
    """Return the next `limit` rows in the order of `by`; the key breaks ties."""
    order = Order.of(by)
    if cursor:
        rows = rows.filter(order.after(cursor, rows.model))
    page_rows = list(rows.order_by(*order.names)[: limit + 1])
    if len(page_rows) <= limit:
        return Page(rows=page_rows, cursor=None)
    return Page(rows=page_rows[:limit], cursor=order.place_of(page_rows[limit - 1]))


def page_schema(item: type[serializers.BaseSerializer[Any]]) -> type[serializers.Serializer[Any]]:
    """Return the serializer of a page of `item`, for the OpenAPI document."""
    return type(
        f"{item.__name__}Page",
        (serializers.Serializer,),
        {"items": item(many=True), "pagination": Pagination()},
    )
