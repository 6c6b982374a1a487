"""The log of a build's current attempt: as events while it is written, or as JSON."""

from django.http import HttpRequest, JsonResponse
from django.http.response import HttpResponseBase
from django.views.decorators.http import require_GET

from apps.accounts.models import Team
from apps.accounts.pages import page, person
from apps.builds.selectors import build_log_owners, build_numbered
from apps.builds.step_labels import LABELS
from apps.telemetry.log_stream import LINES_PER_LOOK, LogLook, cursor_in, log_events, wants_events
from apps.telemetry.logs import log_lines
from controlplane.domain.lifecycle import BUILD_TERMINAL


@page
@require_GET
def build_log(request: HttpRequest, number: int) -> HttpResponseBase:
    team = person(request).team
    build_numbered(team, number)
    if wants_events(request):
        return log_events(request, lambda after: _look(team, number, after))
    look = _look(team, number, cursor_in(request))
    return JsonResponse(look.to_json(), headers={"Cache-Control": "no-store"})


def _look(team: Team, number: int, after: int | None) -> LogLook:
    # Read before its lines: what it wrote until it ended is among them then.
    build = build_numbered(team, number)
    lines = log_lines(
        owners=build_log_owners(build=build),
        attempt=build.attempt,
        after=after,
        limit=LINES_PER_LOOK,
    )
    return LogLook(
        rows=[
            {"text": line.message, "level": line.level, "step": _step_label(line.owner)}
            for line in lines
        ],
        cursor=lines[-1].cursor if lines else None,
        is_over=build.state in BUILD_TERMINAL,
        attempt=build.attempt,
    )


def _step_label(owner: str) -> str:
    name = owner.rpartition(":")[2]
    return LABELS.get(name, name)
