"""Updates and inserts of a row, whose SQL is written once; see `compiled_query`."""

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from django.db import DEFAULT_DB_ALIAS, connections
from django.db.models import AutoField, Model
from django.db.models.functions import Now
from psycopg.sql import SQL, Composed, Identifier

from controlplane.prepared import prepared_cursor

_IS = SQL("= %s")
_NOW = "statement_timestamp()"


@dataclass(frozen=True)
class Drawn:
    """A value that the statement has of itself."""

    expression: str


@dataclass(frozen=True, kw_only=True)
class Write:
    """An update or an insert as PostgreSQL is told it, alone or as a part of another statement."""

    statement: str
    values: Sequence[Any]


def rows_update(model: type[Model], changes: Mapping[str, object], /, **where: object) -> int:
    """Return how many rows were changed: those whose fields have these values, all of them.

    As `model.objects.filter(**where).update(**changes)`, of plain values, None and `Now()`.
    """
    update = update_of(model, changes, **where)
    with prepared_cursor() as cursor:
        cursor.execute(update.statement, update.values)
        count: int = cursor.rowcount
    return count


def update_of(model: type[Model], changes: Mapping[str, object], /, **where: object) -> Write:
    """Return what `rows_update` does, to be done with something else."""
    drawn = _drawn(changes)
    none = tuple(name for name, value in where.items() if value is None)
    return Write(
        statement=_statement(model, tuple(changes), drawn, tuple(where), none),
        values=[*_values(model, changes, dict(drawn)), *_values(model, where, none)],
    )


def _drawn(changes: Mapping[str, object]) -> tuple[tuple[str, str], ...]:
    expressions = {
        name: value.expression if isinstance(value, Drawn) else _NOW
        for name, value in changes.items()
        if isinstance(value, Now | Drawn)
    }
    return tuple(expressions.items())


def row_insert(row: Model) -> None:
    """Store a new row, as its `save(force_insert=True)` does, of a model that is told by nobody."""
    insert = insert_of(row)
    with prepared_cursor() as cursor:
        cursor.execute(insert.statement, insert.values)
        (row.pk,) = cursor.fetchone()
    row._state.adding = False


def insert_of(row: Model) -> Write:
    """Return what `row_insert` does, to be done with something else; the row learns no key."""
    fields, statement = _insertion(type(row))
    connection = connections[DEFAULT_DB_ALIAS]
    given = [each.get_db_prep_save(each.pre_save(row, add=True), connection) for each in fields]
    return Write(statement=statement, values=given)


def _values(model: type[Model], named: Mapping[str, object], left: Container[str]) -> list[Any]:
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
    drawn: tuple[tuple[str, str], ...],
    where: tuple[str, ...],
    none: tuple[str, ...],
) -> str:
    def each(name: str, to: SQL | Composed) -> Composed:
        return SQL("{} {}").format(Identifier(_field(model, name).column), to)

    to = {name: SQL("= {}").format(SQL(text)) for name, text in drawn}
    sets = [each(name, to.get(name, _IS)) for name in changed]
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
