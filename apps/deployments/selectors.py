"""Reads of models, deployments, environments and replicas; `team` bounds every list."""

from collections.abc import Collection
from datetime import timedelta
from typing import Any

from django.db.models import Case, Count, Exists, OuterRef, Prefetch, Q, QuerySet, When
from django.db.models.functions import Now

from apps.accounts.models import Team
from apps.builds.models import Build
from apps.deployments.models import (
    PRODUCTION,
    Deployment,
    Environment,
    FailedStarts,
    Replica,
    ServedModel,
)
from apps.deployments.nodes.backoff import FORGOTTEN_AFTER
from apps.fleet.models import Node
from apps.rest.errors import InvalidInput, NotFound
from controlplane import clock
from controlplane.domain.facts.checkpoints import CheckpointFacts
from controlplane.domain.lifecycle import ReplicaState
from controlplane.domain.runtimes import RUNTIMES
from controlplane.domain.spec.choices import BaseModelKind

DEGRADED = "degraded"
"""No state, but a condition of an active deployment; the hosted product has no word for it."""
DEFAULT_PREDICT_ROUTE = "/v1/chat/completions"
_ENCODERS = frozenset(kind.value for kind in BaseModelKind if kind.is_encoder)
CONFIRMED_SECONDS = 9
"""Three reports of an agent, and less than it takes for a node to count as silent."""
_RUNNING = (
    ReplicaState.STARTING,
    ReplicaState.LOADING,
    ReplicaState.READY,
    ReplicaState.DRAINING,
)
_CONFIRMED_SINCE = Now() - timedelta(seconds=CONFIRMED_SECONDS)


def _count(**which: Any) -> Count:
    conditions = {f"replicas__{field}": value for field, value in which.items()}
    return Count("replicas", filter=Q(**conditions), distinct=True)


_IS_RECENT = Q(observed_at__gt=_CONFIRMED_SINCE) | Q(node__replicas_heard_at__gt=_CONFIRMED_SINCE)
IS_CONFIRMED = Case(When(~Q(state__in=_RUNNING) | _IS_RECENT, then=True), default=False)
"""Of a replica: whether its node has said lately what is known of it, where it runs at all."""
_COUNTS = {
    "active_replica_count": _count(state=ReplicaState.READY),
    "running_replica_count": _count(state__in=_RUNNING),
    "heard_replica_count": Count(
        "replicas",
        filter=Q(replicas__state__in=_RUNNING)
        & (
            Q(replicas__observed_at__gt=_CONFIRMED_SINCE)
            | Q(replicas__node__replicas_heard_at__gt=_CONFIRMED_SINCE)
        ),
        distinct=True,
    ),
}


def model_list(*, team: Team, name: str | None = None) -> QuerySet[ServedModel]:
    models = ServedModel.objects.filter(team=team).select_related("team")
    if name is not None:
        models = models.filter(name=name)
    environments = Environment.objects.select_related("current")
    return (
        models.annotate(deployments_count=Count("deployments"))
        .prefetch_related(Prefetch("environments", queryset=environments))
        .order_by("-created_at", "id")
    )


def deployment_list(
    *, team: Team, model_id: str | None = None, name: str | None = None
) -> QuerySet[Deployment]:
    """Return the team's deployments, newest first, with counts of replicas and environments."""
    deployments = Deployment.objects.filter(model__team=team)
    if model_id is not None:
        deployments = deployments.filter(model_id=model_id)
    if name is not None:
        deployments = deployments.filter(name=name)
    return (
        deployments.select_related("model", "build", "artifact")
        .annotate(**_COUNTS)
        .prefetch_related("current_of", "candidate_of")
        .order_by("-created_at", "id")
    )


def deployment_states(*, team: Team) -> list[tuple[str, int, int]]:
    """Return by state how many deployments the team has, and of how many nothing was heard lately.

    Those are counted among the others.
    """
    rows = Deployment.objects.filter(model__team=team).annotate(is_unheard=unheard("pk"))
    counts = rows.values("state").annotate(
        count=Count("id"), unheard=Count("id", filter=Q(is_unheard=True))
    )
    return list(counts.order_by("state").values_list("state", "count", "unheard"))


def unheard(deployment: str) -> Q:
    """Return whether replicas of the deployment in that column run that no node spoke of lately."""
    running = Replica.objects.filter(deployment=OuterRef(deployment), state__in=_RUNNING)
    return Exists(running) & ~Exists(running.filter(_IS_RECENT))


def environment_list(*, team: Team, model_id: str) -> QuerySet[Environment]:
    return (
        Environment.objects.filter(model__team=team, model_id=model_id)
        .select_related("model")
        .prefetch_related(
            *(
                Prefetch(
                    place,
                    queryset=Deployment.objects.select_related("model")
                    .annotate(**_COUNTS)
                    .prefetch_related("current_of", "candidate_of"),
                )
                for place in ("current", "candidate")
            )
        )
        .order_by("id")
    )


def replica_list(*, deployment: Deployment) -> QuerySet[Replica]:
    """Return the deployment's replicas, newest first, ended ones included, with `is_confirmed`."""
    return (
        Replica.objects.filter(deployment=deployment)
        .select_related("node")
        .annotate(is_confirmed=IS_CONFIRMED)
        .order_by("-ordered_at", "id")
    )


def failed_starts_of(*, deployment: Deployment) -> QuerySet[FailedStarts]:
    rows = FailedStarts.objects.filter(artifact_id=deployment.artifact_id)
    return _lately(rows).select_related("node").order_by("node__name")


def failed_starts_on(*, node: Node) -> QuerySet[FailedStarts]:
    return _lately(FailedStarts.objects.filter(node=node)).order_by("-last_at", "id")


def _lately(rows: QuerySet[FailedStarts]) -> QuerySet[FailedStarts]:
    return rows.filter(last_at__gt=clock.now() - FORGOTTEN_AFTER)


def replicas_measured() -> QuerySet[Replica]:
    running = (ReplicaState.READY, ReplicaState.DRAINING)
    replicas = Replica.objects.filter(state__in=running, metrics__isnull=False)
    return replicas.select_related("node")


def reported_version(replica: Replica) -> str:
    """Return the version that the replica's engine told; empty where it told none."""
    version = replica.report.get("version") if isinstance(replica.report, dict) else None
    return str(version) if version else ""


def served_model_name(deployment: Deployment) -> str:
    return _runtime_section(deployment).get("served_model_name") or deployment.model.name


def adapter_names(deployment: Deployment) -> list[str]:
    build = deployment.spec.get("trt_llm", {}).get("build") or {}
    return sorted(build.get("lora_adapters") or ())


def default_max_tokens(deployment: Deployment) -> int | None:
    """Return the length of answers to requests that name none, where no engine is told it."""
    runtime = RUNTIMES.get(deployment.runtime)
    if runtime is None or runtime.has_default_length:
        return None
    length = _runtime_section(deployment).get("request_default_max_tokens")
    return int(length) if length else None


def shares_prefixes(deployment: Deployment) -> bool:
    return bool(_own_settings(deployment).get("shared_prefixes"))


def extra_routes(deployment: Deployment) -> list[str]:
    return sorted(_own_settings(deployment).get("extra_routes") or ())


def _own_settings(deployment: Deployment) -> dict[str, Any]:
    inside = (deployment.spec.get("model_metadata") or {}).get("enginehouse")
    return deployment.spec.get("enginehouse") or inside or {}


def predict_route(deployment: Deployment) -> str:
    """Return the engine's own path behind `predict`."""
    route = _runtime_section(deployment).get("webserver_default_route")
    if not is_encoder(deployment) or deployment.checkpoint is None:
        return str(route or DEFAULT_PREDICT_ROUTE)
    checkpoint = CheckpointFacts.model_validate(deployment.checkpoint)
    ranks = bool(_own_settings(deployment).get("rerank_template"))
    return RUNTIMES[deployment.runtime].predict_route(route, checkpoint, ranks=ranks)


def is_encoder(deployment: Deployment) -> bool:
    build = deployment.spec.get("trt_llm", {}).get("build") or {}
    return build.get("base_model") in _ENCODERS


def _runtime_section(deployment: Deployment) -> dict[str, Any]:
    section: dict[str, Any] = deployment.spec.get("trt_llm", {}).get("runtime") or {}
    return section


def model_get(*, team: Team, model_id: str) -> ServedModel:
    model = model_list(team=team).filter(id=model_id).first()
    if model is None:
        raise NotFound(f"There is no model `{model_id}`.")
    return model


def models_among(team: Team, ids: Collection[str]) -> Collection[str]:
    return model_list(team=team).filter(id__in=ids).values_list("id", flat=True)


def model_names(team: Team, ids: Collection[str]) -> dict[str, str]:
    return dict(model_list(team=team).filter(id__in=ids).values_list("id", "name"))


def team_of_model(id: str) -> str | None:
    return ServedModel.objects.filter(id=id).values_list("team_id", flat=True).first()


def environments_among(
    team: Team, names: Collection[str], model_ids: Collection[str] | None
) -> Collection[str]:
    environments = Environment.objects.filter(model__in=model_list(team=team), name__in=names)
    if model_ids is not None:
        environments = environments.filter(model_id__in=model_ids)
    return environments.values_list("name", flat=True)


def deployment_get(*, team: Team, model_id: str, deployment_id: str) -> Deployment:
    """Return the deployment of that id, or the current one for `production`. Raises NotFound."""
    if deployment_id == PRODUCTION:
        return _current(team, model_id)
    deployment = deployment_list(team=team, model_id=model_id).filter(id=deployment_id).first()
    if deployment is None:
        raise NotFound(f"Model `{model_id}` has no deployment `{deployment_id}`.")
    return deployment


def environment_get(*, team: Team, model_id: str, name: str) -> Environment:
    environment = environment_list(team=team, model_id=model_id).filter(name=name).first()
    if environment is None:
        raise NotFound(f"Model `{model_id}` has no environment `{name}`.")
    return environment


def build_get(*, team: Team, build_id: str) -> Build:
    """Return the build that a deployment is to be made from. Raises InvalidInput."""
    build = Build.objects.select_related("revision").filter(team=team, id=build_id).first()
    if build is None:
        raise InvalidInput(
            f"There is no build `{build_id}`.",
            fields=["source.build_id"],
            hint="`GET /v1/builds` lists the team's builds.",
        )
    return build


def _current(team: Team, model_id: str) -> Deployment:
    current = environment_get(team=team, model_id=model_id, name=PRODUCTION).current
    if current is None:
        raise NotFound(f"Model `{model_id}` has nothing in production yet.")
    return deployment_get(team=team, model_id=model_id, deployment_id=current.id)
