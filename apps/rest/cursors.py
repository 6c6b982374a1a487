"""Cursors: the place in a list after which the next page begins, opaque to callers."""

import base64
import binascii
import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.core.exceptions import ValidationError
from django.db.models import Field, Model, Q

from apps.rest.errors import InvalidInput


@dataclass(frozen=True, kw_only=True)
class Order:
    """A list's order by one field, also of a row beside, ids breaking ties."""

    field: str
    newest_first: bool

    @classmethod
    def of(cls, by: str) -> "Order":
        """Return the order in Django's words: `name`, `-created_at`."""
        return cls(field=by.removeprefix("-"), newest_first=by.startswith("-"))

    @property
    def names(self) -> tuple[str, str]:
        sign = "-" if self.newest_first else ""
        return f"{sign}{self.field}", f"{sign}pk"

    def after(self, cursor: str, rows: type[Model]) -> Q:
        """Return what comes after the place. Raises InvalidInput."""
        value, last_id = _decode(cursor, _field_of(rows, self.field), rows._meta.pk)
        step = "lt" if self.newest_first else "gt"
        return Q(**{f"{self.field}__{step}": value}) | Q(
            **{self.field: value, f"pk__{step}": last_id}
        )

    def place_of(self, row: Model) -> str:
        value: Any = row
        for name in self.field.split("__"):
            value = getattr(value, name)
        plain = value.isoformat() if isinstance(value, datetime) else value
        text = json.dumps([plain, row.pk], ensure_ascii=False)
        return base64.urlsafe_b64encode(text.encode()).decode()


def _field_of(rows: type[Model], path: str) -> Any:
    model: Any = rows
    first, _, rest = path.partition("__")
    field = model._meta.get_field(first)
    return _field_of(field.related_model, rest) if rest else field


def _decode(cursor: str, field: "Field[Any, Any]", key: Any) -> tuple[Any, Any]:
    try:
        value, last_id = json.loads(base64.urlsafe_b64decode(cursor.encode()))
        return _read(value, field), _read(last_id, key)
    except (ValueError, TypeError, RecursionError, binascii.Error, ValidationError):
        raise InvalidInput(
            f"`cursor`: `{cursor}` did not come from this list.",
            fields=["cursor"],
            hint="Send the `pagination.cursor` of the page before, or none for the first.",
        ) from None


def _read(given: Any, field: "Field[Any, Any]") -> Any:
    """Return what the column can be compared with. Raises ValueError or ValidationError."""
    # Half a character cannot be encoded, which is a ValueError too.
    if not isinstance(given, str | int) or b"\x00" in str(given).encode():
        raise ValueError
    value = field.to_python(given)
    if isinstance(value, datetime) and value.tzinfo is None:
        raise ValueError
    return value
