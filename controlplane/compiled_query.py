"""Queries whose SQL is written once: Django writes it anew each time, which takes longer than it.

For what the control loop asks again and again; anything else is as well off with a queryset.
"""

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from django.db import DEFAULT_DB_ALIAS
from django.db.models import Model, QuerySet

Row = TypeVar("Row", bound=Model)
Value = TypeVar("Value", str, int, list[str])
_PLACES: dict[type, Any] = {str: "\0 the value", int: 2_147_480_021, list: ["\0 the value"]}
"""What stands for the value while the SQL is written: within each column's range, and no value."""


class CompiledQuery(Generic[Row, Value]):
    """Asks for the rows of a queryset that depends on one value, which may stand in many places."""

    def __init__(self, kind: type[Value], build: Callable[[Value], QuerySet[Row]]) -> None:
        self._place: Value = _PLACES[kind]
        self._build: Callable[[Value], QuerySet[Row]] = build
        self._compiled: tuple[type[Row], str, tuple[Any, ...]] | None = None

    def rows(self, value: Value) -> list[Row]:
        """Return the rows, with what the queryset annotates and without what it defers."""
        model, sql, params = self._compiled or self._compile()
        return list(model._default_manager.raw(sql, [self._put(each, value) for each in params]))

    def _put(self, param: Any, value: Value) -> Any:
        return value if param == self._place else param

    def _compile(self) -> tuple[type[Row], str, tuple[Any, ...]]:
        # Not before the first call: one that locks can be written in a transaction only.
        queryset = self._build(self._place)
        sql, params = queryset.query.get_compiler(DEFAULT_DB_ALIAS).as_sql()
        if self._place not in params:
            raise ValueError(f"The query does not depend on its value: {sql}")
        self._compiled = queryset.model, sql, tuple(params)
        return self._compiled
