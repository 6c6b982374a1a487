"""The version of the routes that gateways hold: grown in the changing transaction, nudged after."""

import logging
from collections.abc import Collection, Iterable, Sequence
from functools import cache

import redis
from django.conf import settings
from django.db import transaction

from apps.accounts.models import RoutesChange, RoutesVersion
from controlplane.compiled_update import Drawn, Write
from controlplane.prepared import prepared_cursor

CHANNEL = "routes_version"
EVERYTHING = "all"
CHANGES_KEPT = 10_000
"""So many versions; who is further behind is told everything."""
_VERSION = "(SELECT version FROM bumped)"
THE_VERSION = Drawn(_VERSION)
"""The version that a bump returns, in what is written beside it."""
_log = logging.getLogger(__name__)


def routes_version_bump(
    *,
    models: Iterable[str] = (),
    deployments: Iterable[str] = (),
    replicas: Iterable[str] = (),
    keys: Iterable[str] = (),
    beside: Sequence[Write] = (),
) -> int:
    """Return the version that this transaction's changes will be known by.

    What changed is named by id, keys by their hash; where nothing is, everything may have changed,
    and gateways fetch all of it. What is written `beside`, with `THE_VERSION` in it where wanted,
    goes along: to rows that this transaction holds already, since the order is PostgreSQL's.
    """
    if not transaction.get_connection().in_atomic_block:
        raise RuntimeError("The routes version grows in the transaction that changes a route.")
    named = {"models": models, "deployments": deployments, "replicas": replicas, "keys": keys}
    changes = {(kind, name) for kind, names in named.items() for name in names if name}
    version = _bumped(changes, beside) if changes else None
    if version is None:
        # What was written with a version that there was not is written again, the rest is there.
        left = [each for each in beside if not changes or _VERSION in each.statement]
        version = _bumped_with_everything(changes, left)
    transaction.on_commit(lambda: _nudge(version))
    return version


_BUMP = """
    WITH bumped AS (
        UPDATE accounts_routesversion SET version = version + 1, named_version = version + 1
        WHERE id = 1 AND named_version = version RETURNING version
    ), noted AS (
        INSERT INTO accounts_routeschange (kind, name, version)
        SELECT change.kind, change.name, bumped.version
        FROM bumped, unnest(%s::text[], %s::text[]) AS change (kind, name)
        ON CONFLICT (kind, name) DO UPDATE SET version = EXCLUDED.version
    )
    {beside}SELECT version FROM bumped
"""
"""As one statement: everybody who changes a route waits for the row from it to the commit."""


def _bumped(changes: Collection[tuple[str, str]], beside: Sequence[Write]) -> int | None:
    """Return the new version; None where not all up to the present one is named."""
    kinds, names = zip(*sorted(changes), strict=True)
    values = [value for each in beside for value in each.values]
    with prepared_cursor() as cursor:
        statement = _bump(tuple(each.statement for each in beside))
        cursor.execute(statement, [list(kinds), list(names), *values])
        row = cursor.fetchone()
    return row[0] if row else None


@cache
def _bump(beside: tuple[str, ...]) -> str:
    parts = "".join(f", beside_{place} AS ({each}) " for place, each in enumerate(beside))
    return _BUMP.replace("{beside}", parts)


def _bumped_with_everything(changes: Collection[tuple[str, str]], beside: Sequence[Write]) -> int:
    row = RoutesVersion.objects.select_for_update().filter(id=1).first()
    row = row or RoutesVersion.objects.create(id=1, version=0, named_version=-1)
    version = row.version + 1
    RoutesVersion.objects.filter(id=1).update(version=version, named_version=version)
    _note({*changes, (EVERYTHING, "")}, version)
    with prepared_cursor() as cursor:
        for each in beside:
            cursor.execute(each.statement.replace(_VERSION, str(version)), each.values)
    return version


def routes_versions() -> tuple[int, bool]:
    """Return the present version, and whether all that changed up to it is named."""
    row = RoutesVersion.objects.filter(id=1).first()
    return (row.version, row.named_version == row.version) if row else (0, False)


@transaction.atomic
def routes_changes_prune() -> int:
    row = RoutesVersion.objects.select_for_update().filter(id=1).first()
    last = 0 if row is None else row.version - CHANGES_KEPT
    old = RoutesChange.objects.filter(version__lte=last).exclude(kind=EVERYTHING)
    gone = old.delete()[0]
    known = RoutesChange.objects.filter(kind=EVERYTHING, version__gte=last).exists()
    if gone and not known:
        _note({(EVERYTHING, "")}, last)
    return gone


def _note(changes: Iterable[tuple[str, str]], version: int) -> None:
    RoutesChange.objects.bulk_create(
        [RoutesChange(kind=kind, name=name, version=version) for kind, name in sorted(changes)],
        update_conflicts=True,
        unique_fields=["kind", "name"],
        update_fields=["version"],
    )


def routes_version_current() -> int:
    return RoutesVersion.objects.values_list("version", flat=True).filter(id=1).first() or 0


def _nudge(version: int) -> None:
    # Gateways poll as well: a broker that is away costs a second, not a change.
    try:
        _broker(settings.BROKER_URL).publish(CHANNEL, version)
    except redis.RedisError as error:
        _log.warning("routes version %s was not announced: %s", version, error)


@cache
def _broker(url: str) -> redis.Redis:
    """Return a client that keeps its connections: making one costs more than the word itself."""
    client: redis.Redis = redis.from_url(url, socket_connect_timeout=1, socket_timeout=1)
    return client
