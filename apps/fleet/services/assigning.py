"""What admins say of machines: labels of nodes, pools of GPUs, teams of pools."""

import re
from collections.abc import Mapping, Sequence

from django.db import transaction

from apps.accounts.audit.recording import audit
from apps.accounts.models import Team
from apps.fleet.models import Device, Node, PoolTeam
from apps.rest.errors import Conflict, InvalidInput

_LABEL = re.compile(r"[a-z0-9]([a-z0-9._/-]{0,61}[a-z0-9])?")
_VALUE = re.compile(r"[A-Za-z0-9]([A-Za-z0-9 ._/-]{0,61}[A-Za-z0-9])?|")
_POOL = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
_MOST_LABELS = 32


@transaction.atomic
def node_label(*, node: Node, changes: Mapping[str, str | None]) -> Node:
    """Return the node with labels set, and removed where the value is None. Raises InvalidInput."""
    row = Node.objects.select_for_update(no_key=True).get(id=node.id)
    before = dict(row.labels)
    for name, value in changes.items():
        _check_label(name, value)
    kept = {**before, **changes}
    after = {name: value for name, value in sorted(kept.items()) if value is not None}
    if len(after) > _MOST_LABELS:
        raise InvalidInput(f"A node has at most {_MOST_LABELS} labels.", fields=["labels"])
    if after != before:
        Node.objects.filter(id=row.id).update(labels=after)
        audit("node.label", row, team=None, before=before, after=after)
    node.refresh_from_db()
    return node


@transaction.atomic
def device_assign(*, device: Device, pool: str, expected: str | None = None) -> Device:
    """Return the GPU, assigned to the pool; an empty one is that of its node.

    What holds it keeps it. Raises InvalidInput, or Conflict where it is not in `expected` any more.
    """
    if pool:
        _check_pool(pool)
    row = Device.objects.select_for_update().select_related(None).get(id=device.id)
    if expected is not None and row.pool != expected:
        now = f"pool `{row.pool}`" if row.pool else "the pool of its node"
        raise Conflict(
            f"GPU `{row.id}` was assigned to {now} meanwhile.",
            code="stale",
            hint="Nothing was changed about it. Look at it again, then assign it.",
        )
    if row.pool != pool:
        Device.objects.filter(id=row.id, pool=row.pool).update(pool=pool)
        audit("device.assign", row, team=None, before={"pool": row.pool}, after={"pool": pool})
    device.refresh_from_db()
    return device


@transaction.atomic
def pool_assign(*, pool: str, teams: Sequence[Team]) -> None:
    """Let the pool serve these teams and no other; with none, every team. Raises InvalidInput.

    What runs in it stays.
    """
    _check_pool(pool)
    rows = PoolTeam.objects.filter(pool=pool).select_for_update().order_by("id")
    before = sorted(row.team_id for row in rows)
    after = sorted({team.id for team in teams})
    if before == after:
        return
    PoolTeam.objects.filter(pool=pool).exclude(team_id__in=after).delete()
    PoolTeam.objects.bulk_create(
        [PoolTeam(pool=pool, team_id=team_id) for team_id in after], ignore_conflicts=True
    )
    audit(
        "pool.assign",
        pool,
        team=None,
        before={"team_ids": before},
        after={"team_ids": after},
    )


def _check_label(name: str, value: str | None) -> None:
    if not _LABEL.fullmatch(name):
        raise InvalidInput(
            f"`{name}` is not the name of a label.",
            fields=["labels"],
            hint="Use at most 63 lower-case letters, digits, `.`, `_`, `-` and `/`.",
        )
    if value is not None and not _VALUE.fullmatch(value):
        raise InvalidInput(
            f"`{value}` is not a value of a label.",
            fields=["labels"],
            hint="Use at most 63 letters, digits, spaces, `.`, `_`, `-` and `/`.",
        )


def _check_pool(pool: str) -> None:
    if not _POOL.fullmatch(pool):
        raise InvalidInput(
            f"`{pool}` is not the name of a pool.",
            fields=["pool"],
            hint="Use at most 63 lower-case letters, digits and `-`.",
        )
