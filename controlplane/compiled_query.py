"""Queries whose SQL is written once: Django writes it anew each time, which takes longer than it.

For what the control loop asks again and again; anything else is as well off with a queryset.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from django.db import DEFAULT_DB_ALIAS, connection
from django.db.models import Model, QuerySet

from controlplane.prepared import prepared_cursor

Row = TypeVar("Row", bound=Model)
Value = TypeVar("Value", str, int, list[str])
_PLACES: dict[type, Any] = {str: "\0 the value", int: 2_147_480_021, list: ["\0 the value"]}
"""What stands for the value while the SQL is written: within each column's range, and no value."""


class CompiledQuery(Generic[Row, Value]):
    """Asks for the rows of a queryset that depends on one value, which may stand in many places."""

    def __init__(self, kind: type[Value], build: Callable[[Value], QuerySet[Row]]) -> None:
        self._place: Value = _PLACES[kind]
        self._build: Callable[[Value], QuerySet[Row]] = build
        self._compiled: _Compiled | None = None

    def rows(self, value: Value) -> list[Row]:
        """Return the rows, with what the queryset annotates and without what it defers."""
        compiled = self._compiled or self._compile()
        params = [value if each == self._place else each for each in compiled.params]
        with prepared_cursor() as cursor:
            cursor.execute(compiled.sql, params)
            return [compiled.row_of(each) for each in cursor.fetchall()]

    def first(self, value: Value) -> Row | None:
        return next(iter(self.rows(value)), None)

    def _compile(self) -> "_Compiled":
        # Not before the first call: one that locks can be written in a transaction only.
        self._compiled = _compiled(self._build(self._place))
        if self._place not in self._compiled.params:
            raise ValueError(f"The query does not depend on its value: {self._compiled.sql}")
        return self._compiled


@dataclass(frozen=True, kw_only=True)
class _Compiled:
    """The SQL of a query, and how a row becomes an instance: as Django's `ModelIterable` has it."""

    sql: str
    params: Sequence[Any]
    model: type[Model]
    fields: Sequence[str]
    first_field: int
    converters: Mapping[int, tuple[Sequence[Callable[..., Any]], Any]]
    annotations: Mapping[str, int]

    def row_of(self, values: Sequence[Any]) -> Any:
        row = list(values)
        for place, (convert_all, expression) in self.converters.items():
            for convert in convert_all:
                row[place] = convert(row[place], expression, connection)
        own = row[self.first_field : self.first_field + len(self.fields)]
        made = self.model.from_db(DEFAULT_DB_ALIAS, self.fields, own)
        for name, place in self.annotations.items():
            setattr(made, name, row[place])
        return made


def _compiled(queryset: QuerySet[Any]) -> _Compiled:
    compiler: Any = queryset.query.get_compiler(DEFAULT_DB_ALIAS)
    sql, params = compiler.as_sql()
    known = compiler.klass_info
    places = known["select_fields"]
    return _Compiled(
        sql=sql,
        params=params,
        model=known["model"],
        fields=[compiler.select[place][0].target.attname for place in places],
        first_field=places[0],
        converters=compiler.get_converters([each[0] for each in compiler.select]),
        annotations=compiler.annotation_col_map or {},
    )
