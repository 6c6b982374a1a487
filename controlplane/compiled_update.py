"""Updates and inserts of a row, whose SQL is written once; see `compiled_query`."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from django.db import DEFAULT_DB_ALIAS, connections
from django.db.models import AutoField, Model
from django.db.models.functions import Now
from psycopg.sql import SQL, Composed, Identifier

from controlplane.prepared import prepared_cursor

_IS = SQL("= %s")
_NOW = SQL("= statement_timestamp()")


def rows_update(model: type[Model], changes: Mapping[str, object], /, **where: object) -> int:
    """Return how many rows were changed: those whose fields have these values, all of them.

    As `model.objects.filter(**where).update(**changes)`, of plain values, None and `Now()`.
    """
    now = tuple(name for name, value in changes.items() if isinstance(value, Now))
    none = tuple(name for name, value in where.items() if value is None)
    given = [*_values(model, changes, now), *_values(model, where, none)]
    with prepared_cursor() as cursor:
        cursor.execute(_statement(model, tuple(changes), now, tuple(where), none), given)
        count: int = cursor.rowcount
    return count


def row_insert(row: Model) -> None:
    """Store a new row, as its `save(force_insert=True)` does, of a model that is told by nobody."""
    fields, statement = _insertion(type(row))
    connection = connections[DEFAULT_DB_ALIAS]
    given = [each.get_db_prep_save(each.pre_save(row, add=True), connection) for each in fields]
    with prepared_cursor() as cursor:
        cursor.execute(statement, given)
        (row.pk,) = cursor.fetchone()
    row._state.adding = False


def _values(model: type[Model], named: Mapping[str, object], left: tuple[str, ...]) -> list[Any]:
    connection = connections[DEFAULT_DB_ALIAS]
    return [
        _field(model, name).get_db_prep_save(value, connection)
        for name, value in named.items()
        if name not in left
    ]


@cache
def _field(model: type[Model], name: str) -> Any:
    return model._meta.get_field(name)


@cache
def _statement(
    model: type[Model],
    changed: tuple[str, ...],
    now: tuple[str, ...],
    where: tuple[str, ...],
    none: tuple[str, ...],
) -> str:
    def each(name: str, to: SQL) -> Composed:
        return SQL("{} {}").format(Identifier(_field(model, name).column), to)

    sets = [each(name, _NOW if name in now else _IS) for name in changed]
    tests = [each(name, SQL("IS NULL") if name in none else _IS) for name in where]
    table = Identifier(model._meta.db_table)
    return (
        SQL("UPDATE {} SET {} WHERE {}")
        .format(table, SQL(", ").join(sets), SQL(" AND ").join(tests))
        .as_string()
    )


@cache
def _insertion(model: type[Model]) -> tuple[list[Any], str]:
    meta: Any = model._meta
    fields = [each for each in meta.concrete_fields if not isinstance(each, AutoField)]
    statement = SQL("INSERT INTO {} ({}) VALUES ({}) RETURNING {}").format(
        Identifier(meta.db_table),
        SQL(", ").join([Identifier(each.column) for each in fields]),
        SQL(", ").join([SQL("%s")] * len(fields)),
        Identifier(meta.pk.column),
    )
    return fields, statement.as_string()
