"""The life of a lease, on the database's clock alone, and only while that could be asked.

    waiting ── claim ──> held ── end ──> ended
       ^                  │ renew: held for as long again
       └── release, sweep of an expired one, death of its owner ──┘

Work that was claimed too often goes from waiting to ended, as given up.

A lease has run out for others once its time is over and the database could be asked for a whole
lease: who cannot renew because nobody reaches it has lost nothing. Its holder loses it by the token
alone: as long as nobody has taken it, a renewal that comes late is as good as one in time.
"""

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from django.db import connection as default_connection
from django.db import transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import F, Q, QuerySet
from django.db.models.expressions import CombinedExpression
from django.db.models.functions import Greatest

from apps.accounts.hashing import new_secret, sha256_hex
from apps.leases.database_clock import ClockTimestamp
from apps.leases.kinds import LeaseKind, judged_while, lease_kinds
from apps.leases.lease import LEASE_SECONDS, Lease, LeaseLost, Renewal
from apps.leases.queue import work_send
from controlplane.domain.storable import storable

UNHELD: Mapping[str, Any] = {
    "lease_owner": "",
    "lease_expires_at": None,
    "lease_secret_sha256": "",
}
_NEXT_TOKEN = F("lease_token") + 1
# Not below zero: what is wanted anew counts from there, also while someone holds it.
_ONE_CLAIM_LESS = Greatest(F("lease_claims") - 1, 0)
TAKEN_AWAY: Mapping[str, Any] = {**UNHELD, "lease_token": _NEXT_TOKEN}
"""What a row says from the moment that its holder, if it comes back, is refused."""
_STANDS = "WHERE id = %(id)s AND lease_token = %(token)s AND lease_expires_at IS NOT NULL"
_NEW_END = "clock_timestamp() + make_interval(secs => %(seconds)s)"


def lease_claim(
    *, kind: LeaseKind, id: str, owner: str = "", only: Q | None = None, **columns: Any
) -> Lease | None:
    """Return a lease on work that nobody holds, or None where another was first.

    `only` narrows what may be taken; `columns` are written with the claim.
    """
    secret = new_secret()
    claimable = leases_claimable(kind).filter(only or Q(), pk=id)
    with transaction.atomic():
        taken = claimable.update(
            lease_owner=owner,
            lease_token=_NEXT_TOKEN,
            lease_claims=F("lease_claims") + 1,
            lease_expires_at=_in_one_lease(),
            lease_secret_sha256=sha256_hex(secret),
            **{**kind.claimed, **columns},
        )
        if not taken:
            return None
        token = kind.model._default_manager.values_list("lease_token", flat=True).get(pk=id)
        # Of a holder that is gone, maybe on another host.
        kind.let_go([id])
    return Lease(kind=kind, id=id, token=token, secret=secret)


def lease_renew(*, lease: Lease, connection: BaseDatabaseWrapper | None = None) -> Renewal:
    """Return how the lease stands, renewed.

    `connection` is the caller's own: a pool makes its users wait for as long as a lease lasts.

    Raises:
        LeaseLost: another token is on the row, or nobody holds it any more.
    """
    table, cancel = lease.kind.table, _cancel_of(lease.kind)
    # Names of our own tables and columns; values travel beside them.
    query = f"UPDATE {table} SET lease_expires_at = {_NEW_END} {_STANDS} "  # nosec B608
    query += f"RETURNING {cancel}"
    return _renewal(lease, connection, query)


def lease_check(*, lease: Lease, connection: BaseDatabaseWrapper | None = None) -> Renewal:
    """Return how the lease stands, without renewing it; otherwise as `lease_renew`."""
    # Names of our own, as above.
    query = f"SELECT {_cancel_of(lease.kind)} FROM {lease.kind.table} {_STANDS}"  # nosec B608
    return _renewal(lease, connection, query)


@contextmanager
def lease_held(lease: Lease) -> Iterator[Any]:
    """Open a transaction in which nobody can take the row, and give it.

    Raises:
        LeaseLost: another token is on it.
    """
    with transaction.atomic():
        row = _of(lease).select_for_update(no_key=True).first()
        if row is None:
            raise LeaseLost(lease.id)
        yield row


def lease_end(*, lease: Lease, **columns: Any) -> bool:
    """Return whether the work ended so; the result of a holder that was replaced is dropped.

    What PostgreSQL cannot store is left out: work whose end is refused would go round for ever.
    """
    kept = {name: storable(value) for name, value in columns.items()}
    return bool(_of(lease).update(**kept, **UNHELD))


def lease_release(*, lease: Lease) -> None:
    """Hand over work that its worker cannot go on with: it waits again, and is sent at once.

    Its claim does not count: a worker that is stopped in order is not one that the work has ended.
    """
    leased = _of(lease).filter(lease.kind.is_open)
    row = leased.first()
    if row is not None and leases_requeue(leased, lease.kind, lease_claims=_ONE_CLAIM_LESS):
        work_send(lease.kind, row)


def leases_claimable(kind: LeaseKind) -> QuerySet[Any]:
    return leases_unheld(kind).filter(kind.may_be_claimed, lease_claims__lt=kind.most_claims)


def leases_unheld(kind: LeaseKind) -> QuerySet[Any]:
    """Return what has not ended and nobody holds: it waits, or a dead worker left it behind."""
    has_run_out = Q(lease_expires_at__lte=ClockTimestamp()) & _could_be_renewed()
    return kind.model._default_manager.filter(kind.is_open, Q(lease_expires_at=None) | has_run_out)


@transaction.atomic
def leases_requeue(rows: QuerySet[Any], kind: LeaseKind, **columns: Any) -> int:
    """Return how many of these rows wait again, and hold nothing that others could use."""
    ids = list(rows.select_for_update(no_key=True).values_list("pk", flat=True))
    kind.let_go(ids)
    changes = {**kind.waiting, **TAKEN_AWAY, **columns}
    return kind.model._default_manager.filter(pk__in=ids).update(**changes)


def leases_expire(*, owners: Collection[str]) -> int:
    """Return how many leases ended early because the processes that held them are gone."""
    return sum(
        kind.model._default_manager.filter(lease_owner__in=owners).update(**TAKEN_AWAY)
        for kind in lease_kinds().values()
    )


def lease_owners() -> list[str]:
    owners: set[str] = set()
    for kind in lease_kinds().values():
        leased = kind.model._default_manager.exclude(lease_owner="")
        owners.update(leased.values_list("lease_owner", flat=True).distinct())
    return sorted(owners)


def lease_is_dead(marker: str) -> bool:
    """Return whether no worker stands behind a process marked so.

    A row that this database has never seen belongs to another installation on the host.
    """
    name, _, rest = marker.partition("/")
    id, _, token = rest.partition("/")
    kind = lease_kinds().get(name)
    if kind is None or not token.isdecimal():
        return False
    is_known = kind.model._default_manager.filter(pk=id).exists()
    return is_known and not lease_stands(kind=kind, id=id, token=int(token))


def lease_stands(*, kind: LeaseKind, id: str, token: int) -> bool:
    rows = kind.model._default_manager.filter(live_lease(), pk=id, lease_token=token)
    return rows.exists()


def live_lease() -> Q:
    is_held = Q(lease_expires_at__isnull=False)
    return is_held & (Q(lease_expires_at__gt=ClockTimestamp()) | ~_could_be_renewed())


def _could_be_renewed() -> Q:
    return judged_while()(LEASE_SECONDS)


def _of(lease: Lease) -> QuerySet[Any]:
    """Return the row as long as it is this holder's, run out or not."""
    return lease.kind.model._default_manager.filter(pk=lease.id, lease_token=lease.token)


def _renewal(lease: Lease, connection: BaseDatabaseWrapper | None, query: str) -> Renewal:
    values: Mapping[str, str | float] = {
        "id": lease.id,
        "token": lease.token,
        "seconds": LEASE_SECONDS,
    }
    with (connection or default_connection).cursor() as cursor:
        cursor.execute(query, values)
        row = cursor.fetchone()
    if row is None:
        raise LeaseLost(lease.id)
    return Renewal(is_cancel_requested=row[0])


def _cancel_of(kind: LeaseKind) -> str:
    return f"{kind.cancel_column} IS NOT NULL" if kind.cancel_column else "false"


def _in_one_lease() -> CombinedExpression:
    return ClockTimestamp() + timedelta(seconds=LEASE_SECONDS)
