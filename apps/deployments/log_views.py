"""What a deployment's engines print: followed from a little before now on, or as a file."""

from collections.abc import Iterator
from datetime import UTC, datetime

from django.http import HttpRequest, JsonResponse
from django.http.response import HttpResponseBase
from django.views.decorators.http import require_GET

from apps.accounts.models import Team
from apps.accounts.pages import page, person
from apps.deployments.models import Deployment, Replica
from apps.rest.errors import NotFound
from apps.rest.streaming import download_answer
from apps.telemetry.log_filters import LogFilter, filter_in
from apps.telemetry.log_stream import LINES_PER_LOOK, LogLook, cursor_in, log_events, wants_events
from apps.telemetry.logs import LogLine, log_lines
from controlplane.domain.lifecycle import DEPLOYMENT_TERMINAL

FIRST_LINES = 500
"""An engine's log has no end that a page could wait for; its beginning is in the file."""
REPLICAS_FOLLOWED = 20


@page
@require_GET
def deployment_log(request: HttpRequest, model_id: str, deployment_id: str) -> HttpResponseBase:
    team, which = person(request).team, filter_in(request)
    _state(team, model_id, deployment_id)

    def look(after: int | None) -> LogLook:
        return _look(_state(team, model_id, deployment_id), deployment_id, which, after)

    if wants_events(request):
        return log_events(request, look)
    return JsonResponse(look(cursor_in(request)).to_json(), headers={"Cache-Control": "no-store"})


@page
@require_GET
def deployment_log_file(
    request: HttpRequest, model_id: str, deployment_id: str
) -> HttpResponseBase:
    _state(person(request).team, model_id, deployment_id)
    return download_answer(
        request,
        _pieces(deployment_id, filter_in(request)),
        content_type="text/plain; charset=utf-8",
        file_name=f"{deployment_id}.log",
    )


def _look(state: str, deployment_id: str, which: LogFilter, after: int | None) -> LogLook:
    replicas = list(
        Replica.objects.filter(deployment_id=deployment_id)
        .only("id", "finished_at")
        .order_by("-ordered_at", "id")[:REPLICAS_FOLLOWED]
    )
    lines = _lines(which, [each.log_owner for each in replicas], after)
    has_ended = all(each.finished_at for each in replicas)
    return LogLook(
        rows=[
            {"text": line.message, "level": line.level, "step": line.owner.rpartition(":")[2]}
            for line in lines
        ],
        cursor=lines[-1].cursor if lines else None,
        is_over=state in DEPLOYMENT_TERMINAL and has_ended,
    )


def _lines(which: LogFilter, owners: list[str], after: int | None) -> list[LogLine]:
    conditions = {"owners": which.of(owners), **which.conditions()}
    if after is None:
        return log_lines(**conditions, newest_first=True, limit=FIRST_LINES)[::-1]
    return log_lines(**conditions, after=after, limit=LINES_PER_LOOK)


def _pieces(deployment_id: str, which: LogFilter) -> Iterator[bytes]:
    """Return the log in pieces, each a query of its own: a download may take hours."""
    replicas = Replica.objects.filter(deployment_id=deployment_id).only("id")
    conditions = {"owners": which.of([each.log_owner for each in replicas]), **which.conditions()}
    lines = log_lines(**conditions, limit=LINES_PER_LOOK)
    while lines:
        yield "".join(map(_line, lines)).encode()
        lines = log_lines(**conditions, after=lines[-1].cursor, limit=LINES_PER_LOOK)


def _line(line: LogLine) -> str:
    at = datetime.fromtimestamp(line.timestamp_nanoseconds / 1e9, UTC)
    stamp = at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return f"{stamp} {line.owner.rpartition(':')[2]} {line.message}\n"


def _state(team: Team, model_id: str, deployment_id: str) -> str:
    deployments = Deployment.objects.filter(id=deployment_id, model_id=model_id, model__team=team)
    state = deployments.values_list("state", flat=True).first()
    if state is None:
        raise NotFound(f"There is no deployment `{deployment_id}`.")
    return state
