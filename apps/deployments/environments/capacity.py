"""When a promotion may switch: once the candidate can carry what the current deployment carries."""

from collections import Counter
from dataclasses import dataclass

from apps.deployments.models import Deployment, Environment, Replica
from controlplane.compiled_query import CompiledQuery
from controlplane.domain.lifecycle import ReplicaState

_READY = CompiledQuery(
    list,
    lambda deployment_ids: (
        Replica.objects.filter(wanted="running", state=ReplicaState.READY)
        .extra(where=["deployment_id = ANY(%s)"], params=[deployment_ids])
        .only("deployment_id")
    ),
)


@dataclass(frozen=True, kw_only=True)
class Capacity:
    ready: int
    needed: int
    rule: str

    @property
    def suffices(self) -> bool:
        return self.ready >= self.needed

    @property
    def words(self) -> str:
        verb = "is" if self.ready == 1 else "are"
        return f"{self.ready} of {self.needed} needed replicas {verb} ready; needed: {self.rule}."


def capacity_of(environment: Environment, candidate: Deployment) -> Capacity:
    """Return what the candidate has and needs; the caller holds the lock of both deployments."""
    ready = _ready_by_id(environment.current_id, candidate.id)
    carried = ready.get(environment.current_id, 0)
    replicas = requested_replicas(environment, candidate)
    needed = carried if replicas is None else min(carried, replicas)
    return Capacity(
        ready=ready.get(candidate.id, 0),
        needed=max(1, needed),
        rule=_rule(environment, carried, replicas),
    )


def requested_replicas(environment: Environment, candidate: Deployment) -> int | None:
    """Return how many a person lets the candidate run once it serves; None where nobody said.

    Those of the environment hold for whatever serves there. Of fewer that carry the traffic now,
    the load says that they are needed.
    """
    if environment.autoscaling_settings:
        return max(1, int(environment.autoscaling_settings.get("max_replica", 1)))
    return max(1, candidate.max_replica) if candidate.autoscaling else None


def _ready_by_id(*ids: str | None) -> dict[str | None, int]:
    ready = _READY.rows([each for each in ids if each])
    return Counter(each.deployment_id for each in ready)


def _rule(environment: Environment, carried: int, replicas: int | None) -> str:
    if carried == 0:
        return f"one, since none carries the traffic of `{environment.name}` now"
    if replicas is not None and replicas < carried:
        return f"the {replicas} that `max_replica` allows; {carried} carry the traffic now"
    return f"as many as carry the traffic of `{environment.name}` now"
