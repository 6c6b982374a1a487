"""Pages before the editor: the ways to begin a config, and a checkpoint being read."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_GET, require_POST

from apps.accounts.pages import page, person
from apps.configs.drafts import PostedDraft
from apps.configs.local_checkpoints import local_checkpoints
from apps.configs.reading import FitLine, found_lines
from apps.configs.selectors import config_search
from apps.configs.starts import Reading, pasted_text, reading_of, row_name
from apps.configs.views import editor_page
from apps.rest.errors import InvalidInput
from apps.secrets.selectors import secret_names
from apps.ui.fragments import asks_for_part, live_answer, part_answer
from controlplane.domain.documented_configs import DOCUMENTED
from controlplane.domain.memory import FitRow
from controlplane.domain.presets import PRESETS

MOST_COPIES = 12
"""Shown at a time; words find any other."""


@page
@require_GET
def start(request: HttpRequest) -> HttpResponse:
    """Show the ways to begin a config; a search among those of the team asks for its part."""
    if asks_for_part(request):
        return part_answer(request, "configs/_copies.html", _copies(request))
    return _start(request)


@page
@require_GET
def read(request: HttpRequest) -> HttpResponse:
    """Show what a checkpoint's own files say, and the config that follows from it."""
    try:
        reading = reading_of(team=person(request).team, parameters=request.GET.dict())
    except InvalidInput as error:
        return _start(request, error=error.message)
    facts, proposal = reading.facts, reading.proposal({})
    proposed = proposal.sequence_tokens if proposal else None
    context = {
        "reading": reading,
        "found": found_lines(facts, reading.named, proposed_tokens=proposed) if facts else (),
        "proposal": proposal,
        "editor_url": _editor(reading),
        "rows": [FitLine(row=row, url=_editor(reading, row)) for row in reading.choices],
    }
    return live_answer(
        request, page="configs/read.html", part="configs/_read.html", context=context
    )


@page
@require_POST
def paste(request: HttpRequest) -> HttpResponse:
    """Open the editor on what was pasted; nothing of it is kept before it is saved."""
    try:
        text, imported = pasted_text(request.POST.get("pasted", ""))
    except InvalidInput as error:
        # What was pasted may hold a secret: it is not sent back.
        return _start(request, error=f"{error.message} {error.hint or ''}".strip())
    posted = PostedDraft(user=person(request), config=None, text=text, base=0)
    return editor_page(request, posted, imported=imported)


def _editor(reading: Reading, row: FitRow | None = None) -> str:
    parameters = {"repo": reading.named.repo, "secret": reading.named.secret_name}
    if row is not None:
        parameters |= dict(zip(("gpu", "precision", "devices"), row_name(row), strict=True))
    return f"{reverse('configs:new')}?{urlencode(parameters)}"


def _start(request: HttpRequest, error: str = "") -> HttpResponse:
    team = person(request).team
    context = {
        "error": error,
        "asked": request.GET.dict(),
        "presets": PRESETS,
        "documented": DOCUMENTED,
        "folders": local_checkpoints(),
        **_copies(request),
        "secret_names": sorted(secret_names(team=team)),
    }
    return render(request, "configs/start.html", context, status=400 if error else 200)


def _copies(request: HttpRequest) -> dict[str, Any]:
    words = request.GET.get("q", "").replace("\0", "").strip()
    matching = config_search(team=person(request).team, words=words).order_by("-updated_at", "-id")
    configs = list(matching.values("id", "name")[: MOST_COPIES + 1])
    return {"words": words, "configs": configs[:MOST_COPIES], "more": configs[MOST_COPIES:]}
