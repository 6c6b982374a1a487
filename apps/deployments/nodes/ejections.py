"""Replicas that gateways pass over for a while, as each gateway said last."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from apps.deployments.autoscaling.models import GatewayLoad
from apps.deployments.autoscaling.signal import REPORT_AGE
from apps.deployments.models import Replica
from controlplane import clock

_REASONS = {
    "bad_answer": "what it answered cannot be read",
    "connect_refused": "it refused a connection",
    "connect_timeout": "it took no connection in time",
    "errors": "it answered five requests in a row with an error of its own",
    "reset": "it broke off an answer",
    "unheard": "it closed a connection without an answer",
}


@dataclass(frozen=True, kw_only=True)
class Ejection:
    """One gateway that sends a replica nothing while others answer."""

    gateway: str
    reason: str

    @property
    def words(self) -> str:
        return f"`{self.gateway}`, since {_REASONS.get(self.reason, f'of `{self.reason}`')}"


def with_ejections(replicas: Sequence[Replica]) -> Sequence[Replica]:
    """Return the replicas, each with `ejected_by`: the gateways that pass it over."""
    reports = _newest_reports()
    for each in replicas:
        each.ejected_by = list(_of(each.id, reports))  # type: ignore[attr-defined]
    return replicas


def _newest_reports() -> Mapping[str, Mapping[str, str]]:
    reporting = GatewayLoad.objects.filter(at__gt=clock.now() - REPORT_AGE)
    newest = reporting.order_by("gateway_id", "-sequence").distinct("gateway_id")
    return dict(newest.values_list("gateway__name", "ejected"))


def _of(replica_id: str, reports: Mapping[str, Mapping[str, str]]) -> Iterable[Ejection]:
    for gateway, ejected in sorted(reports.items()):
        if replica_id in ejected:
            yield Ejection(gateway=gateway, reason=ejected[replica_id])
