from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from apps.accounts.models import Team
from apps.accounts.pages import actor_on, page, person
from apps.deployments.addresses import addresses_of
from apps.deployments.autoscaling.forms import SizeForm
from apps.deployments.autoscaling.history import decision_list
from apps.deployments.autoscaling.standing import standing_of
from apps.deployments.environments.promoting import environment_promote
from apps.deployments.environments.restrictions import (
    closed_environments,
    require_deployment,
    require_environment,
)
from apps.deployments.environments.rolling.panel import roll_panels
from apps.deployments.history.shown import history_of
from apps.deployments.log_views import REPLICAS_FOLLOWED
from apps.deployments.lookahead import lookahead_panel
from apps.deployments.metrics.charts import DEFAULT_RANGE, RANGES
from apps.deployments.metrics.panels import chart_panels, missing_charts
from apps.deployments.models import Deployment
from apps.deployments.nodes.ejections import with_ejections
from apps.deployments.planned_and_actual import comparison_of
from apps.deployments.presentation import (
    REPLICA_SORTS,
    actions_of,
    deactivation_words,
    deletion_words,
    endpoint_of,
    engine_of,
    measures_of,
    places_of,
    promotions_of,
    replica_views,
    waiting_of,
)
from apps.deployments.selectors import (
    CONFIRMED_SECONDS,
    DEGRADED,
    deployment_list,
    environment_list,
    failed_starts_of,
    replica_list,
)
from apps.deployments.served_models.rows import SORTS, model_rows, model_search
from apps.deployments.services.autoscaling import autoscaling_settings
from apps.deployments.services.backpressure import backpressure_update
from apps.deployments.services.deleting import deployment_delete
from apps.deployments.services.deployments import (
    deployment_activate,
    deployment_deactivate,
    deployment_rename,
    deployment_retry,
)
from apps.deployments.snippets import snippets_of
from apps.rest.errors import Conflict, NotFound
from apps.telemetry.traffic import traffic_by_deployment
from apps.ui.fragments import live_answer
from apps.ui.listing import list_query_in, page_in, sorted_items
from apps.ui.tones import title
from apps.ui.undo import say_undoable
from controlplane.domain.lifecycle import DeploymentState, ReplicaState

ENDED_REPLICAS_SHOWN = 5
DECISIONS_SHOWN = 8


@page
@require_GET
def deployments(request: HttpRequest) -> HttpResponse:
    team = person(request).team
    list_query = list_query_in(request, states=[DEGRADED, *DeploymentState], sorts=SORTS)
    models = model_search(
        team=team, words=list_query.words, state=list_query.state, sort=list_query.sort
    )
    shown = page_in(request, models)
    rows = model_rows(team, list(shown), words=list_query.words, state=list_query.state)
    return live_answer(
        request,
        page="deployments/list.html",
        part="deployments/_models.html",
        context={"models": rows, "page": shown, "asked": list_query},
    )


@page
@require_GET
def deployment(request: HttpRequest, model_id: str, deployment_id: str) -> HttpResponse:
    deployment = _get(person(request).team, model_id, deployment_id)
    environments = list(environment_list(team=person(request).team, model_id=model_id))
    every = list(replica_list(deployment=deployment))
    running = [replica for replica in every if not replica.finished_at]
    ended = [replica for replica in every if replica.finished_at]
    replicas = [*running, *ended[:ENDED_REPLICAS_SHOWN]]
    failed = list(failed_starts_of(deployment=deployment))
    waiting = waiting_of(deployment, every, failed)
    measures = measures_of(deployment, every)
    plan = deployment.build.revision.plan if deployment.build else None
    comparison_replica, comparison = comparison_of(plan, running)
    list_query = list_query_in(
        request, sorts=REPLICA_SORTS, keeps=["call"], anchor="replicas-title"
    )
    context = {
        "deployment": deployment,
        "asked": list_query,
        "confirmed_seconds": CONFIRMED_SECONDS,
        "places": places_of(deployment),
        "endpoint": endpoint_of(deployment),
        "address": addresses_of(deployment)[0].place,
        "traffic": (
            traffic := traffic_by_deployment(deployment_ids=[deployment.id])[deployment.id]
        ),
        "deactivation": deactivation_words(deployment, traffic),
        "deletion": deletion_words(deployment),
        "replicas": sorted_items(
            replica_views(with_ejections(replicas)), list_query.sort, REPLICA_SORTS
        ),
        "ready": sum(replica.state == ReplicaState.READY for replica in running),
        "comparison": comparison,
        "comparison_replica": comparison_replica,
        "failed_starts": failed,
        "next_start": waiting["next_start"],
        "promotions": promotions_of(deployment, environments),
        **history_of(deployment, environments),
        "rolls": roll_panels(environments, actor=actor_on(request), of=deployment.id),
        "scaling": standing_of(deployment),
        "size": SizeForm(initial=autoscaling_settings(deployment)),
        "decisions": decision_list(deployment=deployment)[:DECISIONS_SHOWN],
        **engine_of(deployment, running),
        "series_url": reverse("deployments:series", args=[model_id, deployment_id]),
        "ranges": RANGES,
        "default_range": DEFAULT_RANGE,
        "charts": chart_panels(measures),
        "missing_charts": missing_charts(measures),
        "lookahead": lookahead_panel(deployment) if measures.has_drafts else None,
        "log_url": reverse("deployments:log", args=[model_id, deployment_id]),
        "log_parts": [each.id for each in every[:REPLICAS_FOLLOWED]],
        **_code(request, deployment),
        "tab_title": title(
            DEGRADED if deployment.degraded_since else deployment.state,
            f"{deployment.model.name} {deployment.name}",
        ),
        **actions_of(
            deployment,
            environments,
            closed_environments(actor_on(request), environments),
            waits=waiting["waits"],
        ),
    }
    return live_answer(
        request,
        page="deployments/deployment.html",
        part="deployments/_deployment.html",
        context=context,
    )


@page
@require_POST
def activate(request: HttpRequest, model_id: str, deployment_id: str) -> HttpResponse:
    deployment_activate(deployment=_changeable(request, model_id, deployment_id))
    return redirect("deployments:deployment", model_id, deployment_id)


@page
@require_POST
def deactivate(request: HttpRequest, model_id: str, deployment_id: str) -> HttpResponse:
    deployment = _changeable(request, model_id, deployment_id)
    if request.POST.get("name", "").strip() != deployment.name:
        raise Conflict(f"Type `{deployment.name}` to deactivate the deployment.", fields=["name"])
    deployment_deactivate(deployment=deployment)
    return redirect("deployments:deployment", model_id, deployment_id)


@page
@require_POST
def delete(request: HttpRequest, model_id: str, deployment_id: str) -> HttpResponse:
    deployment = _changeable(request, model_id, deployment_id)
    if request.POST.get("name", "").strip() != deployment.name:
        raise Conflict(f"Type `{deployment.name}` to delete the deployment.", fields=["name"])
    name = deployment.name
    deployment_delete(deployment=deployment)
    messages.success(request, f"Deployment `{name}` is deleted; its build and artifact stay.")
    return redirect("deployments:model", model_id)


@page
@require_POST
def rename(request: HttpRequest, model_id: str, deployment_id: str) -> HttpResponse:
    deployment = _changeable(request, model_id, deployment_id)
    before = deployment.name
    renamed = deployment_rename(deployment=deployment, name=request.POST.get("name", "").strip())
    if renamed.name != before:
        words = f"It is called `{renamed.name}` now."
        say_undoable(request, words, path=request.path, fields={"name": before})
    return redirect("deployments:deployment", model_id, deployment_id)


@page
@require_POST
def retry(request: HttpRequest, model_id: str, deployment_id: str) -> HttpResponse:
    done, reason = deployment_retry(deployment=_changeable(request, model_id, deployment_id))
    if not done:
        raise Conflict(reason or "There is nothing to retry.")
    return redirect("deployments:deployment", model_id, deployment_id)


@page
@require_POST
def promote(request: HttpRequest, model_id: str, deployment_id: str) -> HttpResponse:
    team = person(request).team
    deployment = _get(team, model_id, deployment_id)
    name = request.POST.get("environment", "")
    environment = environment_list(team=team, model_id=model_id).filter(name=name).first()
    if environment is None:
        raise NotFound(f"There is no environment `{name}`.")
    require_environment(actor_on(request), name)
    candidate = environment_promote(
        environment=environment, deployment=deployment, user=person(request)
    )
    return redirect("deployments:deployment", model_id, candidate.id)


@page
@require_POST
def set_backpressure(request: HttpRequest, model_id: str, deployment_id: str) -> HttpResponse:
    deployment, policy = (
        _changeable(request, model_id, deployment_id),
        request.POST.get("policy", ""),
    )
    before = deployment.backpressure_policy
    backpressure_update(deployment=deployment, policy=policy or None)
    if policy != before:
        words = f"What is too much for `{deployment.name}` is handled anew."
        say_undoable(request, words, path=request.path, fields={"policy": before})
    return redirect("deployments:deployment", model_id, deployment_id)


def _code(request: HttpRequest, deployment: Deployment) -> dict[str, Any]:
    addresses = addresses_of(deployment)
    call = request.GET.get("call")
    called = next((each for each in addresses if each.place == call), addresses[0])
    return {"addresses": addresses, "called": called, "snippets": snippets_of(called)}


def _changeable(request: HttpRequest, model_id: str, deployment_id: str) -> Deployment:
    return require_deployment(
        actor_on(request), _get(person(request).team, model_id, deployment_id)
    )


def _get(team: Team, model_id: str, deployment_id: str) -> Deployment:
    deployment = (
        deployment_list(team=team, model_id=model_id)
        .select_related("build__revision__config", "model", "artifact")
        .filter(id=deployment_id)
        .first()
    )
    if deployment is None:
        raise NotFound(f"There is no deployment `{deployment_id}`.")
    return deployment
