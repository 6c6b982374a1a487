from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from apps.deployments.addresses import CHAT_ROUTE, GONE, addresses_of, called_route
from apps.deployments.memory_need import instance_type_name
from apps.deployments.metrics.panels import Measures
from apps.deployments.models import Deployment, Environment, FailedStarts, Replica
from apps.deployments.plan import STARTS_REPLICAS, next_start_at, ready_count
from apps.deployments.ranking import clock_time
from apps.deployments.selectors import reported_version
from apps.fleet.selectors import devices_held
from apps.telemetry.traffic import Traffic
from apps.ui import formats
from apps.ui.tones import Tone
from controlplane import clock
from controlplane.domain.facts.gpus import CPU
from controlplane.domain.lifecycle import DEPLOYMENT_TERMINAL, DeploymentState, ReplicaState
from controlplane.domain.runtimes.open_routes import borrowed_routes

_OFF = frozenset({DeploymentState.INACTIVE, DeploymentState.DEACTIVATING})
_ASLEEP = frozenset({DeploymentState.SCALED_TO_ZERO})
_RETRYABLE = frozenset(
    {
        DeploymentState.BUILD_FAILED,
        DeploymentState.BUILD_STOPPED,
        DeploymentState.DEPLOY_FAILED,
        DeploymentState.FAILED,
        DeploymentState.UNHEALTHY,
    }
)
_NOTHING_RUNS = _OFF | frozenset(
    {DeploymentState.BUILDING, DeploymentState.BUILD_FAILED, DeploymentState.BUILD_STOPPED}
)


@dataclass(frozen=True, kw_only=True)
class DeploymentRow:
    deployment: Deployment
    traffic: Traffic

    @property
    def places(self) -> Sequence[str]:
        return places_of(self.deployment)

    @property
    def endpoint(self) -> str:
        return endpoint_of(self.deployment)

    @property
    def may_be_tried(self) -> bool:
        return self.deployment.state not in GONE

    @property
    def address(self) -> str:
        return addresses_of(self.deployment)[0].place

    @property
    def requests_per_second(self) -> float | None:
        return self.traffic.requests_per_second

    @property
    def error_share(self) -> float | None:
        return self.traffic.error_share


@dataclass(frozen=True, kw_only=True)
class ReplicaView:
    replica: Replica
    devices: Sequence[str] = ()
    """The GPUs that it holds or held, each with its slot."""

    @property
    def kv_used(self) -> float | None:
        return self._metric("kv_cache_used_ratio")

    @property
    def running(self) -> float | None:
        return self._metric("requests_running")

    @property
    def waiting(self) -> float | None:
        return self._metric("requests_waiting")

    @property
    def age_seconds(self) -> float:
        return ((self.replica.finished_at or clock.now()) - self.replica.ordered_at).total_seconds()

    def _metric(self, name: str) -> float | None:
        metrics = self.replica.metrics or {}
        is_live = self.replica.state in (ReplicaState.READY, ReplicaState.DRAINING)
        value = metrics.get(name, metrics.get(f"engine_{name}")) if is_live else None
        return float(value) if value is not None else None


REPLICA_SORTS: Mapping[str, Callable[[ReplicaView], Any]] = {
    "state": lambda view: view.replica.state,
    "node": lambda view: view.replica.node.name,
    "gpu": lambda view: view.devices or None,
    "memory": lambda view: view.replica.memory_bytes,
    "kv": lambda view: view.kv_used,
    "running": lambda view: view.running,
    "queued": lambda view: view.waiting,
    "age": lambda view: view.age_seconds,
}
"""What the columns of a deployment's replicas sort by."""


@dataclass(frozen=True, kw_only=True)
class PromotionNote:
    words: str
    tone: Tone

    @property
    def is_moving(self) -> bool:
        return self.tone is Tone.RUNNING


def replica_views(replicas: Sequence[Replica]) -> Sequence[ReplicaView]:
    leased = devices_held([each.device_holder for each in replicas])
    return [
        ReplicaView(replica=each, devices=leased.get(each.device_holder, ())) for each in replicas
    ]


def places_of(deployment: Deployment) -> Sequence[str]:
    return sorted(place.name for place in deployment.current_of.all())


def endpoint_of(deployment: Deployment) -> str:
    """Return the base URL for an OpenAI client: the environment's where there is one."""
    return f"{addresses_of(deployment)[0].root}/v1"


def engine_of(deployment: Deployment, replicas: Sequence[Replica]) -> dict[str, str]:
    """Return the version that answers, and what it means where it has no list of routes."""
    ready = (each for each in replicas if each.state == ReplicaState.READY)
    versions = filter(None, map(reported_version, sorted(ready, key=lambda each: each.id)))
    version = next(versions, "")  # as `routes_snapshot` has it
    routes = borrowed_routes(deployment.runtime, version) if version else ""
    return {"engine_version": version, "borrowed_routes": routes}


def measures_of(deployment: Deployment, replicas: Iterable[Replica]) -> Measures:
    counted = [replica.metrics or {} for replica in replicas]
    return Measures(
        makes_text=called_route(deployment) == CHAT_ROUTE,
        has_drafts=any(each.get("draft_tokens_total") for each in counted),
        looks_prompts_up=any(each.get("prefix_cache_queries_total") for each in counted),
        has_gpus=instance_type_name(deployment) != CPU,
    )


def actions_of(
    deployment: Deployment,
    environments: Sequence[Environment],
    closed: Collection[str],
    waits: bool = False,
) -> dict[str, Any]:
    """Return which buttons the deployment's page offers; `closed` may be seen, not changed.

    `waits` where replicas are missing, and their start is put off after failures.
    """
    state = DeploymentState(deployment.state)
    return {
        "closed": [
            environment.name
            for environment in environments
            if environment.name in closed
            and deployment.id in (environment.current_id, environment.candidate_id)
        ],
        "may_activate": state in _OFF | _ASLEEP,
        "may_deactivate": state not in _NOTHING_RUNS,
        "may_delete": state in DEPLOYMENT_TERMINAL,
        "may_retry": state in _RETRYABLE,
        "may_retry_now": state in STARTS_REPLICAS and waits,
        "promotable": [
            environment.name
            for environment in environments
            if state not in DEPLOYMENT_TERMINAL
            and environment.name not in closed
            and deployment.id != environment.current_id
            and environment.candidate_id is None
        ],
    }


def deactivation_words(deployment: Deployment, traffic: Traffic) -> str:
    """Return what follows from stopping it now: what serves where, and how much is asked of it."""
    ends = "Its replicas finish what they answer and end."
    refused = "Requests to it get an error until it is active again."
    places = ", ".join(places_of(deployment))
    if not places:
        return f"It serves in no environment. {ends} {refused}"
    rate = traffic.requests_per_second
    traffic_words = f", {formats.rate(rate)} requests/s in the last hour" if rate else ""
    fails = f"It is what {places} serves{traffic_words}: all of that fails from now on."
    return f"{fails} {ends} {refused}"


def deletion_words(deployment: Deployment) -> str:
    places = ", ".join(places_of(deployment))
    points = f"Nothing is left in {places}. " if places else ""
    return f"It cannot be brought back. {points}Its build, artifact and usage stay."


def waiting_of(
    deployment: Deployment, replicas: Sequence[Replica], failed: Sequence[FailedStarts]
) -> dict[str, Any]:
    """Return whether missing replicas wait for a while after failures, and until when they all do.

    `replicas` are all of the deployment, ended ones included.
    """
    is_whole = ready_count(replicas) >= deployment.wanted_replicas
    next_start = next_start_at(deployment, replicas)
    waits = not is_whole and next_start > clock.now()
    return {
        "waits": waits or (not is_whole and any(each.waits for each in failed)),
        "next_start": next_start if waits else None,
    }


def promotions_of(
    deployment: Deployment, environments: Sequence[Environment]
) -> Sequence[PromotionNote]:
    """Return what to say of environments that are moving to or from the deployment."""
    notes = []
    for place in environments:
        status = (place.promotion or {}).get("status")
        if place.candidate is not None and "roll" in (place.promotion or {}):
            continue  # it has a panel of its own
        if place.candidate_id == deployment.id:
            notes.append(
                PromotionNote(
                    words=f"`{place.name}` moves here as soon as {_awaited(place)}",
                    tone=Tone.RUNNING,
                )
            )
        elif place.candidate is not None and place.current_id == deployment.id:
            notes.append(
                PromotionNote(
                    words=f"`{place.name}` moves to `{place.candidate.name}` as soon as "
                    f"{_awaited(place)}",
                    tone=Tone.RUNNING,
                )
            )
        elif place.retiring_id == deployment.id:
            notes.append(
                PromotionNote(
                    words=f"`{place.name}` has moved on; this ends once every gateway knows.",
                    tone=Tone.RUNNING,
                )
            )
        elif status == "FAILED" and place.current_id == deployment.id:
            reason = place.promotion["error_message"] if place.promotion else ""
            notes.append(
                PromotionNote(
                    words=f"The last promotion to `{place.name}` failed. {reason}", tone=Tone.ERROR
                )
            )
    return notes


def _awaited(place: Environment) -> str:
    promotion = place.promotion or {}
    if "waits_for" not in promotion:
        return "that is ready."
    until = datetime.fromisoformat(promotion["gives_up_at"])
    return (
        f"enough replicas are ready. {promotion['waits_for']} Unless one more becomes ready, it is "
        f"given up at {clock_time(until)}, and traffic stays where it is."
    )
