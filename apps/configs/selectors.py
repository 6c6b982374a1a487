from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, OuterRef, Q, QuerySet, Subquery, Value
from django.db.models.functions import Coalesce, NullIf

from apps.accounts.models import Team
from apps.configs.models import CheckpointRecord, Config, Revision
from apps.fleet.models import Device
from apps.rest.errors import NotFound
from controlplane.domain.facts.checkpoints import CheckpointFacts
from controlplane.domain.facts.device_offers import DeviceOffer
from controlplane.domain.runtimes import RUNTIMES
from controlplane.domain.spec import CheckpointRepository
from controlplane.domain.text_difference import DifferenceLine, text_difference

CAN_BUILD = "can_build"
CONFIG_STATES = (CAN_BUILD, "cannot_build")
_HOST = ("node_id", "kind", "memory_bytes", "computes_bfloat16")
_NODE = ("node__name", "node__runtimes", "node__runtime_versions")
_BUILT_IN = frozenset(name for name, runtime in RUNTIMES.items() if runtime.is_built_in)
_REPO = "spec__trt_llm__build__checkpoint_repository__repo"


def config_list(*, team: Team) -> QuerySet[Config]:
    """Return the team's configs, each with `last_number` and `last_blocks_build`."""
    last = Revision.objects.filter(config=OuterRef("pk")).order_by("-number")
    return Config.objects.filter(team=team).annotate(
        last_number=Subquery(last.values("number")[:1]),
        last_blocks_build=Subquery(last.values("blocks_build")[:1]),
    )


def config_search(*, team: Team, words: str = "", state: str = "") -> QuerySet[Config]:
    configs = config_list(team=team)
    if words:
        last = Revision.objects.filter(config=OuterRef("pk")).order_by("-number")
        configs = configs.annotate(repo=Subquery(last.values(_REPO)[:1]))
        configs = configs.filter(Q(name__icontains=words) | Q(repo__icontains=words))
    if state:
        configs = configs.filter(**{"last_blocks_build": state != CAN_BUILD})
    return configs


def config_get(*, team: Team, config_id: str) -> Config:
    config = config_list(team=team).select_related("team").filter(id=config_id).first()
    if config is None:
        raise NotFound(f"There is no config `{config_id}`.")
    return config


def revision_list(*, config: Config) -> QuerySet[Revision]:
    return (
        Revision.objects.filter(config=config)
        .select_related("config", "config__team", "created_by")
        .order_by("-number")
    )


def revision_get(*, config: Config, number: int) -> Revision:
    revision = revision_list(config=config).filter(number=number).first()
    if revision is None:
        raise NotFound(f"The config `{config.id}` has no revision {number}.")
    return revision


def revision_last(*, config: Config) -> Revision | None:
    return revision_list(config=config).first()


def revision_wanted(*, config: Config, number: int | None = None) -> Revision:
    """Return that revision of a config, the last one where none is named. Raises NotFound."""
    if number is not None:
        return revision_get(config=config, number=number)
    revision = revision_last(config=config)
    if revision is None:
        raise NotFound(f"The config `{config.id}` has no revision.")
    return revision


def revision_difference(revision: Revision) -> Sequence[DifferenceLine]:
    before = Revision.objects.filter(config_id=revision.config_id, number=revision.number - 1)
    text = before.values_list("text", flat=True).first()
    return () if text is None else text_difference(text, revision.text)


def facts_known(*, team: Team, checkpoint: CheckpointRepository | None) -> CheckpointFacts | None:
    """Return what was read of a checkpoint last; asks for nothing that is not there."""
    if checkpoint is None:
        return None
    known = CheckpointRecord.objects.filter(
        team=team,
        source=checkpoint.source,
        repo=checkpoint.repo,
        revision=checkpoint.revision or "",
        facts__isnull=False,
    )
    facts = known.order_by("-requested_at").values_list("facts", flat=True).first()
    return CheckpointFacts.model_validate(facts) if facts else None


@dataclass(frozen=True, kw_only=True)
class HostRuntimes:
    node_id: str
    node: str
    """Its name."""
    kind: str
    pool: str
    runtimes: frozenset[str]
    versions: frozenset[tuple[str, str]] = frozenset()
    """Runtime and version of what ran there last."""


@dataclass(frozen=True, kw_only=True)
class HostOffers:
    """What hosts have, silent ones included: one that is away does not make a config wrong."""

    devices: tuple[DeviceOffer, ...]
    """Of each kind and size of every host."""
    started: tuple[HostRuntimes, ...] = ()
    """What each of them is set up to start."""

    @property
    def most_devices(self) -> tuple[DeviceOffer, ...]:
        """The most GPUs of each kind and size that one host has."""
        most: dict[tuple[str, int, bool], DeviceOffer] = {}
        for offer in self.devices:
            device = (offer.kind, offer.memory_bytes, offer.computes_bfloat16)
            most[device] = max(most.get(device, offer), offer, key=lambda each: each.count)
        return tuple(most.values())

    def runtimes(self, *, kind: str, pool: str) -> frozenset[str]:
        """Return what the pool's hosts with such a GPU start, those of any pool where it has none.

        Empty where no host has such a GPU.
        """
        return frozenset().union(*(host.runtimes for host in self._hosts(kind, pool)))

    def versions(self, *, kind: str, pool: str) -> frozenset[tuple[str, str]]:
        return frozenset().union(*(host.versions for host in self._hosts(kind, pool)))

    def of(self, runtime: str) -> Mapping[str, HostRuntimes]:
        """Return by node the hosts that start a runtime, whatever their GPUs, by name."""
        able = (host for host in self.started if runtime in host.runtimes)
        return {host.node_id: host for host in sorted(able, key=lambda each: each.node)}

    def _hosts(self, kind: str, pool: str) -> Sequence[HostRuntimes]:
        able = [host for host in self.started if host.kind == kind]
        return [host for host in able if host.pool == pool] or able


def device_offers() -> tuple[DeviceOffer, ...]:
    """Return the most GPUs of each kind and size that one host has, silent hosts included."""
    return offers_of_hosts().most_devices


def host_offers() -> tuple[DeviceOffer, ...]:
    """Return the GPUs of each kind and size of every host, silent hosts included."""
    return offers_of_hosts().devices


def offers_of_hosts() -> HostOffers:
    """Return what every host has that takes new work."""
    rows = (
        Device.objects.filter(is_present=True, node__cordoned=False, node__removed_at=None)
        .annotate(place=Coalesce(NullIf("pool", Value("")), "node__pool"))
        .values(*_HOST, *_NODE, "place")
        .annotate(count=Count("id"))
        .order_by("kind", "memory_bytes")
    )
    counts: Counter[tuple[Any, ...]] = Counter()
    for row in rows:  # a host's GPUs are counted over its pools
        counts[tuple(row[name] for name in _HOST)] += row["count"]
    devices = tuple(_offer(host, count) for host, count in counts.items())
    return HostOffers(devices=devices, started=tuple(map(_started, rows)))


def _offer(host: tuple[Any, ...], count: int) -> DeviceOffer:
    _, kind, memory_bytes, computes_bfloat16 = host
    return DeviceOffer(
        kind=kind, count=count, memory_bytes=memory_bytes, computes_bfloat16=computes_bfloat16
    )


def _started(row: Mapping[str, Any]) -> HostRuntimes:
    started = _BUILT_IN | (RUNTIMES.keys() & row["node__runtimes"])
    # An older agent does not say; the built-in engine is there with any.
    versions = row["node__runtime_versions"]
    return HostRuntimes(
        node_id=row["node_id"],
        node=row["node__name"],
        kind=row["kind"],
        pool=row["place"],
        runtimes=frozenset(started),
        versions=frozenset((name, versions[name]) for name in started & versions.keys()),
    )
