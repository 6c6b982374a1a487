"""What a deployment's engines print, from a little before now on: as events, or as JSON."""

from django.http import HttpRequest, JsonResponse
from django.http.response import HttpResponseBase
from django.views.decorators.http import require_GET

from apps.accounts.models import Team
from apps.accounts.pages import page, person
from apps.deployments.models import Deployment, Replica
from apps.rest.errors import NotFound
from apps.telemetry.log_stream import LINES_PER_LOOK, LogLook, cursor_in, log_events, wants_events
from apps.telemetry.logs import LogLine, log_lines
from controlplane.domain.lifecycle import DEPLOYMENT_TERMINAL

FIRST_LINES = 500
"""An engine's log has no end that a page could wait for, and its beginning is in REST."""
REPLICAS_FOLLOWED = 20


@page
@require_GET
def deployment_log(request: HttpRequest, model_id: str, deployment_id: str) -> HttpResponseBase:
    """Return the lines after a cursor, the last few without one."""
    team = person(request).team
    _state(team, model_id, deployment_id)

    def look(after: int | None) -> LogLook:
        return _look(team, model_id, deployment_id, after)

    if wants_events(request):
        return log_events(request, look)
    return JsonResponse(look(cursor_in(request)).to_json(), headers={"Cache-Control": "no-store"})


def _look(team: Team, model_id: str, deployment_id: str, after: int | None) -> LogLook:
    state = _state(team, model_id, deployment_id)
    replicas = list(
        Replica.objects.filter(deployment_id=deployment_id)
        .only("id", "finished_at")
        .order_by("-ordered_at", "id")[:REPLICAS_FOLLOWED]
    )
    lines = _lines([each.log_owner for each in replicas], after)
    has_ended = all(each.finished_at for each in replicas)
    return LogLook(
        rows=[
            {"text": line.message, "level": line.level, "step": line.owner.rpartition(":")[2]}
            for line in lines
        ],
        cursor=lines[-1].cursor if lines else None,
        is_over=state in DEPLOYMENT_TERMINAL and has_ended,
    )


def _lines(owners: list[str], after: int | None) -> list[LogLine]:
    if after is None:
        return log_lines(owners=owners, newest_first=True, limit=FIRST_LINES)[::-1]
    return log_lines(owners=owners, after=after, limit=LINES_PER_LOOK)


def _state(team: Team, model_id: str, deployment_id: str) -> str:
    found = Deployment.objects.filter(id=deployment_id, model_id=model_id, model__team=team)
    state = found.values_list("state", flat=True).first()
    if state is None:
        raise NotFound(f"There is no deployment `{deployment_id}`.")
    return state
