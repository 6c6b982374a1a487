"""Lists by cursor: newest first, stable while rows come and go."""

import base64
import binascii
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, TypeVar

from django.db.models import Model, Q, QuerySet
from rest_framework import serializers

from apps.rest.errors import InvalidInput
from apps.rest.examples import shown_as
from apps.rest.serializers import StrictSerializer

Row = TypeVar("Row", bound=Model)


class PageQuery(StrictSerializer):
    """Which part of a list: at most `limit` rows, after those that `cursor` has seen."""

    limit = serializers.IntegerField(min_value=1, max_value=1000, default=50)
    cursor = serializers.CharField(required=False, max_length=200, allow_blank=True)


@shown_as({"has_more": True, "cursor": "WyIyMDI2LTExLTI3VDE2OjQwOjAyKzAwOjAwIiwgIjJqdDdhNGF4Il0="})
class Pagination(serializers.Serializer[Any]):
    """Whether there is more, and where it begins."""

    has_more = serializers.BooleanField()
    cursor = serializers.CharField(allow_null=True)


@dataclass(frozen=True, kw_only=True)
class Page(Generic[Row]):
    """One part of a list; `cursor` leads to the next."""

    rows: Sequence[Row]
    cursor: str | None

    def to_json(self, shape: type[serializers.BaseSerializer[Any]]) -> dict[str, Any]:
        """Return `{items, pagination}` with each row in `shape`."""
        return {
            "items": shape(self.rows, many=True).data,
            "pagination": {"has_more": self.cursor is not None, "cursor": self.cursor},
        }


def page_of(
    rows: QuerySet[Row], *, limit: int = 50, cursor: str | None = None, by: str = "created_at"
) -> Page[Row]:
    """Return the next `limit` rows, newest by `by` first; `id` breaks ties."""
    if cursor:
        at, last_id = _decode(cursor)
        rows = rows.filter(Q(**{f"{by}__lt": at}) | Q(**{by: at, "id__lt": last_id}))
    found = list(rows.order_by(f"-{by}", "-id")[: limit + 1])
    if len(found) <= limit:
        return Page(rows=found, cursor=None)
    return Page(rows=found[:limit], cursor=_encode(found[limit - 1], by))


def page_schema(item: type[serializers.BaseSerializer[Any]]) -> type[serializers.Serializer[Any]]:
    """Return the serializer of a page of `item`, for the OpenAPI document."""
    return type(
        f"{item.__name__}Page",
        (serializers.Serializer,),
        {"items": item(many=True), "pagination": Pagination()},
    )


def _encode(row: Model, by: str) -> str:
    at: datetime = getattr(row, by)
    return base64.urlsafe_b64encode(json.dumps([at.isoformat(), row.pk]).encode()).decode()


def _decode(cursor: str) -> tuple[datetime, str]:
    try:
        at, last_id = json.loads(base64.urlsafe_b64decode(cursor.encode()))
        moment = datetime.fromisoformat(at)
    except (ValueError, TypeError, binascii.Error):
        moment, last_id = None, None
    if moment is None or moment.tzinfo is None or not isinstance(last_id, str | int):
        raise InvalidInput(
            f"`cursor`: `{cursor}` did not come from this list.",
            fields=["cursor"],
            hint="Send the `pagination.cursor` of the page before, or none for the first.",
        )
    return moment, str(last_id)
