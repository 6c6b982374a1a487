"""Who holds a build: a timed claim with a fencing token, on the database's clock alone.

Taking a build raises its token, and so does giving up on a holder; every write of a holder names
its token and is refused once that has changed.
"""

import hashlib
import hmac
import secrets
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta

from django.db import transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import DateTimeField, Exists, F, Func, Q, QuerySet
from django.db.models.expressions import CombinedExpression
from django.db.models.functions import Coalesce

from apps.builds.models import Build, BuildStep
from apps.fleet.models import Node
from apps.fleet.services import cards_release
from controlplane.domain.lifecycle import BUILD_TERMINAL, BuildState, StepState

LEASE_SECONDS = 10.0
RENEW_SECONDS = 3.0
RUNNING = frozenset(BuildState) - BUILD_TERMINAL - {BuildState.QUEUED}
UNHELD = {"lease_owner": "", "lease_expires_at": None, "lease_secret_sha256": ""}


_RENEW = """
    UPDATE builds_build
    SET lease_expires_at = clock_timestamp() + make_interval(secs => %(seconds)s)
    WHERE id = %(id)s AND lease_token = %(token)s AND lease_expires_at > clock_timestamp()
    RETURNING cancel_requested_at IS NOT NULL
"""
_CHECK = """
    SELECT cancel_requested_at IS NOT NULL FROM builds_build
    WHERE id = %(id)s AND lease_token = %(token)s AND lease_expires_at > clock_timestamp()
"""


@dataclass(frozen=True, kw_only=True)
class Lease:
    """What a worker holds: the token of its writes, and the secret that redeems secrets."""

    build_id: str
    token: int
    secret: str = field(repr=False)

    @property
    def marker(self) -> str:
        """What the environment of this build's processes names, so that they can be found."""
        return f"build/{self.build_id}/{self.token}"


@dataclass(frozen=True, kw_only=True)
class Renewal:
    """What a holder learns each time it looks at its lease."""

    is_cancel_requested: bool


class LeaseLost(Exception):
    """Another worker has the build, or may have it: the result of this one is dropped."""


class ClockTimestamp(Func):
    """The database's clock at this instant, also within a long transaction."""

    function = "clock_timestamp"
    output_field = DateTimeField()


def build_claim(*, build_id: str, owner: str, on_node: str = "") -> Lease | None:
    """Return a lease on a build that nobody holds, or None where another was first.

    A worker of a cordoned node takes none: the sweep offers the build again, to another.
    """
    secret = secrets.token_urlsafe(32)
    cordoned = Exists(Node.objects.filter(name=on_node, cordoned=True))
    claimed = builds_unheld().filter(~cordoned, id=build_id, cancel_requested_at=None)
    with transaction.atomic():
        taken = claimed.update(
            state=BuildState.FETCHING,
            lease_owner=owner,
            lease_token=F("lease_token") + 1,
            lease_expires_at=_in_one_lease(),
            lease_secret_sha256=_sha256(secret),
            started_at=Coalesce("started_at", ClockTimestamp()),
        )
        if not taken:
            return None
        token = Build.objects.values_list("lease_token", flat=True).get(id=build_id)
        left_running = BuildStep.objects.filter(build_id=build_id, state=StepState.RUNNING)
        left_running.update(state=StepState.WAITING, progress_done=0, progress_total=None)
        # Of a holder that is gone, maybe on another host.
        cards_release(holder=card_holder(build_id))
    return Lease(build_id=build_id, token=token, secret=secret)


def lease_renew(*, lease: Lease, connection: BaseDatabaseWrapper) -> Renewal:
    """Return how the lease stands, renewed.

    `connection` is the caller's own: a pool makes its users wait for as long as a lease lasts.

    Raises:
        LeaseLost: it has run out, or another token is on the build.
    """
    return _renewal(lease, connection, _RENEW)


def lease_check(*, lease: Lease, connection: BaseDatabaseWrapper) -> Renewal:
    """Return how the lease stands, without renewing it; otherwise as `lease_renew`."""
    return _renewal(lease, connection, _CHECK)


def build_release(*, lease: Lease) -> None:
    """Put a build that its worker cannot go on with back into the queue, at once."""
    _requeue(Build.objects.filter(id=lease.build_id, lease_token=lease.token, state__in=RUNNING))


def builds_unheld() -> QuerySet[Build]:
    """Return the builds that a worker may take: queued, or left behind by a dead one."""
    expired = Q(lease_expires_at=None) | Q(lease_expires_at__lte=ClockTimestamp())
    return Build.objects.filter(Q(state=BuildState.QUEUED) | Q(expired, state__in=RUNNING))


def builds_requeue_abandoned() -> int:
    """Return how many builds went back to the queue because their lease ran out."""
    return _requeue(builds_unheld().filter(state__in=RUNNING, cancel_requested_at=None))


def builds_expire_leases(*, owners: Collection[str]) -> int:
    """Return how many leases ended early because the processes that held them are gone."""
    held = Build.objects.filter(lease_owner__in=owners, state__in=RUNNING)
    return held.update(lease_token=F("lease_token") + 1, lease_expires_at=None)


def card_holder(build_id: str) -> str:
    """Return the name by which a build holds cards."""
    return f"build:{build_id}"


def lease_owners() -> list[str]:
    """Return the owners of all leases, live and expired."""
    return list(
        Build.objects.filter(state__in=RUNNING).values_list("lease_owner", flat=True).distinct()
    )


def lease_is_dead(marker: str) -> bool:
    """Return whether no worker stands behind a process marked so.

    A build that this database has never seen belongs to another installation on the host.
    """
    kind, _, rest = marker.partition("/")
    build_id, _, token = rest.partition("/")
    if kind != "build" or not token.isdecimal():
        return False
    known = Build.objects.filter(id=build_id)
    return known.exists() and not known.filter(_live(), lease_token=int(token)).exists()


def lease_redeemable(*, build_id: str, token: int, secret: str) -> Build | None:
    """Return the build when token and secret are those of its live lease."""
    live = Build.objects.filter(_live(), id=build_id, lease_token=token)
    build = live.select_related("team", "revision").first()
    if build is None or not hmac.compare_digest(build.lease_secret_sha256, _sha256(secret)):
        return None
    return build


@contextmanager
def held_build(lease: Lease) -> Iterator[Build]:
    """Open a transaction in which nobody can take the build.

    Raises:
        LeaseLost: another token is on the build.
    """
    with transaction.atomic():
        locked = Build.objects.select_for_update(no_key=True)
        build = locked.filter(id=lease.build_id, lease_token=lease.token).first()
        if build is None:
            raise LeaseLost(lease.build_id)
        yield build


def _renewal(lease: Lease, connection: BaseDatabaseWrapper, query: str) -> Renewal:
    with connection.cursor() as cursor:
        cursor.execute(
            query, {"id": lease.build_id, "token": lease.token, "seconds": LEASE_SECONDS}
        )
        row = cursor.fetchone()
    if row is None:
        raise LeaseLost(lease.build_id)
    return Renewal(is_cancel_requested=row[0])


@transaction.atomic
def _requeue(builds: QuerySet[Build]) -> int:
    ids = list(builds.select_for_update(no_key=True).values_list("id", flat=True))
    for build_id in ids:
        # A build that waits in the queue holds nothing that others could use.
        cards_release(holder=card_holder(build_id))
    return Build.objects.filter(id__in=ids).update(
        state=BuildState.QUEUED, lease_token=F("lease_token") + 1, **UNHELD
    )


def _live() -> Q:
    return Q(lease_expires_at__gt=ClockTimestamp(), state__in=RUNNING)


def _in_one_lease() -> CombinedExpression:
    return ClockTimestamp() + timedelta(seconds=LEASE_SECONDS)


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
