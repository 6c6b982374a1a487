"""Reads of the fleet.

What was silent for `SILENT_SECONDS`, in which it was listened without a gap, counts as gone.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime, timedelta

from django.db.models import (
    Count,
    DateTimeField,
    Exists,
    Min,
    Prefetch,
    Q,
    QuerySet,
    Subquery,
    Value,
)
from django.db.models.functions import Coalesce, Now

from apps.fleet.credentials import hash_of
from apps.fleet.models import (
    Device,
    DeviceLease,
    DevicePrice,
    Gateway,
    Listening,
    Node,
    PoolTeam,
    Worker,
)
from apps.leases.database_clock import ClockTimestamp
from controlplane.compiled_query import CompiledQuery

SILENT_SECONDS = 15
SILENT = timedelta(seconds=SILENT_SECONDS)
LONGEST_GAP = timedelta(seconds=3)
"""Between two beats of those who listen."""
_NEVER = Value(datetime(1970, 1, 1, tzinfo=UTC), output_field=DateTimeField())


def silent_before() -> Coalesce:
    """Return, for queries, the moment after which who is not silent was heard."""
    return Coalesce(Subquery(Listening.objects.values("silent_before")[:1]), _NEVER)


def _is_recent(field: str) -> Q:
    return Q(**{f"{field}__gt": silent_before()})


def listened_for(seconds: float) -> Q:
    """Return, for queries, whether the database could be asked for so long, up to now.

    True too where nobody has ever listened: then there is nothing to know it by.
    """
    now = ClockTimestamp()
    lately = Listening.objects.filter(
        last_beat_at__gte=now - LONGEST_GAP,
        unbroken_since__lte=now - timedelta(seconds=seconds),
    )
    return Q(Exists(lately)) | ~Q(Exists(Listening.objects.all()))


def node_list() -> QuerySet[Node]:
    """Return the nodes, but for removed ones, by name, with GPUs and the live claims on them."""
    live = DeviceLease.objects.filter(released_at=None).order_by("id")
    devices = Device.objects.order_by("index").prefetch_related(
        Prefetch("leases", queryset=live, to_attr="live_leases")
    )
    return (
        Node.objects.filter(removed_at=None)
        .order_by("name")
        .prefetch_related(Prefetch("devices", queryset=devices))
        .annotate(is_alive=_is_recent("last_heartbeat_at"))
    )


def nodes_alive() -> QuerySet[Node]:
    return Node.objects.filter(_is_recent("last_heartbeat_at"), removed_at=None)


def node_counts() -> dict[str, int]:
    present = Node.objects.filter(removed_at=None)
    is_alive = _is_recent("last_heartbeat_at")
    return present.aggregate(
        alive=Count("id", filter=is_alive), silent=Count("id", filter=~is_alive)
    )


def nodes_recent() -> QuerySet[Node]:
    """Return the nodes that are not silent, and spoke in the last minute: a person may doubt it."""
    return nodes_alive().filter(last_heartbeat_at__gt=Now() - timedelta(minutes=1))


def nodes_silent() -> QuerySet[Node]:
    """Return the nodes that did not speak for `SILENT_SECONDS` of listened time."""
    return Node.objects.filter(
        Q(last_heartbeat_at=None) | Q(last_heartbeat_at__lte=silent_before())
    )


def nodes_for(*, kind: str, pool: str) -> Sequence[Node]:
    """Return where something new for `kind` may go: alive, not cordoned, with GPUs of the pool."""
    devices = Device.objects.filter(devices_of_pool(pool), kind=kind, is_present=True)
    ids = devices.values("node_id")
    return list(nodes_alive().filter(cordoned=False, id__in=ids).order_by("name"))


def nodes_closed(*, kind: str, pool: str) -> dict[str, str]:
    devices = Device.objects.filter(devices_of_pool(pool), kind=kind, is_present=True)
    here = Node.objects.filter(removed_at=None, id__in=devices.values("node_id"))
    nodes = here.annotate(is_alive=_is_recent("last_heartbeat_at")).order_by("name")
    rows = nodes.values_list("name", "is_alive", "cordoned")
    return {
        name: "cordoned" if is_alive else "silent"
        for name, is_alive, is_cordoned in rows
        if is_cordoned or not is_alive
    }


def nodes_draining(*, node_ids: Collection[str]) -> frozenset[str]:
    nodes = Node.objects.filter(id__in=node_ids, draining_since__isnull=False)
    return frozenset(nodes.values_list("id", flat=True))


def pool_is_cordoned(pool: str) -> bool:
    """Return whether the pool has live nodes, and none of them takes anything new."""
    cordoned = {*nodes_alive().filter(pool=pool).values_list("cordoned", flat=True)}
    return cordoned == {True}


def devices_of_pool(pool: str) -> Q:
    """Return what finds the GPUs of a pool: assigned to it, or to none on a node of it."""
    return Q(pool=pool) | Q(pool="", node__pool=pool)


def pools_closed_to(*, team_id: str) -> set[str]:
    """Return the pools that serve other teams only."""
    served = PoolTeam.objects.filter(team_id=team_id).values("pool")
    return set(PoolTeam.objects.exclude(pool__in=served).values_list("pool", flat=True))


def pool_names() -> list[str]:
    devices = Device.objects.filter(node__removed_at=None)
    of_devices = devices.exclude(pool="").values_list("pool", flat=True)
    of_teams = PoolTeam.objects.values_list("pool", flat=True)
    of_nodes = Node.objects.filter(removed_at=None).values_list("pool", flat=True)
    return sorted(of_nodes.union(of_devices, of_teams))


def node_by_credential(credential: str) -> Node | None:
    """Return whose credential it is, removed or not."""
    return Node.objects.filter(credential_sha256=hash_of(credential)).first()


def gateway_by_credential(credential: str) -> Gateway | None:
    return Gateway.objects.filter(credential_sha256=hash_of(credential)).first()


def gateways_live() -> QuerySet[Gateway]:
    return Gateway.objects.filter(_is_recent("last_seen_at"))


def worker_list() -> QuerySet[Worker]:
    """Return the workers and the scheduler by name, each with `is_alive`."""
    return Worker.objects.annotate(is_alive=_is_recent("last_seen_at")).order_by("name")


def gateway_list() -> QuerySet[Gateway]:
    return Gateway.objects.annotate(is_alive=_is_recent("last_seen_at")).order_by("name")


def clocks_apart() -> list[tuple[str, str, int]]:
    """Return kind, name and seconds ahead of each live node and gateway whose clock is wrong."""
    return _reported_by_hosts(~Q(clock_ahead_seconds=0), "clock_ahead_seconds")


def disks_below(*, free_bytes: int) -> list[tuple[str, str, int]]:
    """Return kind, name and bytes left of each live node and gateway whose disk has less."""
    return _reported_by_hosts(Q(disk_free_bytes__lt=free_bytes), "disk_free_bytes")


def _reported_by_hosts(condition: Q, field: str) -> list[tuple[str, str, int]]:
    nodes = nodes_alive().filter(condition).annotate(kind=Value("node"))
    gateways = gateways_live().filter(condition).annotate(kind=Value("gateway"))
    fields = ("kind", "name", field)
    return sorted(nodes.values_list(*fields).union(gateways.values_list(*fields), all=True))


def builder_is_there() -> bool:
    live = Worker.objects.filter(_is_recent("last_seen_at"))
    return live.filter(name__startswith="build.").exists()


_GATEWAYS_BEHIND = CompiledQuery(
    int, lambda version: gateways_live().filter(applied_version__lt=version).only("id")[:1]
)


def gateways_have_applied(version: int) -> bool:
    """Return whether every live gateway works by `version` or a later one; true when none lives."""
    return not _GATEWAYS_BEHIND.rows(version)


def version_applied_by_all() -> int | None:
    """Return the routes version that every live gateway works by; None when none lives."""
    oldest: int | None = gateways_live().aggregate(oldest=Min("applied_version"))["oldest"]
    return oldest


def devices_offered() -> QuerySet[Device]:
    return (
        Device.objects.filter(node__in=nodes_alive(), is_present=True)
        .select_related("node")
        .order_by("kind", "memory_bytes", "id")
    )


def smallest_device_bytes(*, node: Node, kind: str, pool: str | None = None) -> int:
    """Return the memory of the smallest GPU of the kind, of the pool, on the node; 0 without."""
    devices = Device.objects.filter(node=node, kind=kind, is_present=True)
    if pool is not None:
        devices = devices.filter(devices_of_pool(pool))
    smallest: int | None = devices.aggregate(least=Min("memory_bytes"))["least"]
    return smallest or 0


def computes_bfloat16(*, node: Node) -> bool:
    """Return whether the node's processor computes bfloat16 by itself."""
    return Device.objects.filter(node=node, computes_bfloat16=True, is_present=True).exists()


def leases_of_holder(holder: str) -> Sequence[DeviceLease]:
    """Return the live claims of `holder`, with GPU and node, by index."""
    live = DeviceLease.objects.filter(holder=holder, released_at=None)
    return list(live.select_related("device__node").order_by("device__index"))


def devices_held(holders: Collection[str]) -> Mapping[str, Sequence[str]]:
    """Return by holder the GPUs that it holds or held last, in words: `H100 3`."""
    holder_of: dict[str, dict[int, str]] = {}
    leases = DeviceLease.objects.filter(holder__in=holders).order_by("device__index", "id")
    for holder, index, kind in leases.values_list("holder", "device__index", "device__kind"):
        holder_of.setdefault(holder, {})[index] = f"{kind} {index}"
    return {holder: list(each.values()) for holder, each in holder_of.items()}


def prices_now() -> dict[str, DevicePrice]:
    return {price.kind: price for price in DevicePrice.objects.order_by("since", "id")}


def price_history() -> QuerySet[DevicePrice]:
    return DevicePrice.objects.order_by("-since", "-id")
