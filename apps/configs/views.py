from collections.abc import Mapping
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from apps.accounts.pages import page, person
from apps.configs.calibration_sets.selectors import set_names
from apps.configs.config_rows import config_rows
from apps.configs.drafts import PostedDraft, opened_draft, posted_draft
from apps.configs.editor import Draft
from apps.configs.effective_command import effective_command
from apps.configs.fit_matrix import matrix_of
from apps.configs.form_values import text_data
from apps.configs.local_checkpoints import local_checkpoints
from apps.configs.models import Config, Revision
from apps.configs.plan_measurements import latest_measurements
from apps.configs.selectors import (
    CONFIG_STATES,
    config_get,
    config_search,
    revision_difference,
    revision_get,
)
from apps.secrets.selectors import secret_names
from apps.ui.fragments import live_answer, part_answer
from apps.ui.listing import list_query_in, page_in, sorted_rows

SHOWN_PREVIEWS = 5
_SORTS = {"name": "name", "changed": "updated_at"}
UNSAVED_STATUS = 409
REFUSED_STATUS = 400


@page
@require_GET
def configs(request: HttpRequest) -> HttpResponse:
    list_query = list_query_in(request, states=CONFIG_STATES, sorts=_SORTS)
    configs = config_search(
        team=person(request).team, words=list_query.words, state=list_query.state
    )
    shown = page_in(request, sorted_rows(configs, list_query.sort, _SORTS, otherwise="-changed"))
    return live_answer(
        request,
        page="configs/list.html",
        part="configs/_list.html",
        context={"rows": config_rows(list(shown)), "page": shown, "asked": list_query},
    )


@page
@require_http_methods(["GET", "POST"])
def new(request: HttpRequest) -> HttpResponse:
    return _edit(request, None)


@page
@require_http_methods(["GET", "POST"])
def editor(request: HttpRequest, config_id: str) -> HttpResponse:
    return _edit(request, config_get(team=person(request).team, config_id=config_id))


@page
@require_POST
def check(request: HttpRequest, config_id: str | None = None) -> HttpResponse:
    """Return the editor's inside for the text as it stands now; nothing is saved."""
    config = config_get(team=person(request).team, config_id=config_id) if config_id else None
    posted = posted_draft(request, config)
    if "fix" in request.POST:
        posted.apply_fix(request.POST["fix"], request.POST.get("fix_code", ""))
    if "cell" in request.POST:
        posted.take_cell(request.POST["cell"])
    return part_answer(request, "configs/_editor.html", _context(posted) | {"is_fragment": True})


@page
@require_POST
def fit(request: HttpRequest, config_id: str | None = None) -> HttpResponse:
    team = person(request).team
    config = config_get(team=team, config_id=config_id) if config_id else None
    posted = posted_draft(request, config)
    matrix = matrix_of(
        team=team,
        parsed=posted.parsed,
        might_get=bool(posted.might_get),
        only_owned=request.POST.get("only_owned") == "on",
    )
    return part_answer(request, "configs/_fit.html", _addresses(config) | {"matrix": matrix})


@page
@require_GET
def revision(request: HttpRequest, config_id: str, number: int) -> HttpResponse:
    config = config_get(team=person(request).team, config_id=config_id)
    revision = revision_get(config=config, number=number)
    checked = {
        "findings": revision.findings,
        "waiting": revision.waiting,
        "effective": revision.effective,
        "plan": revision.plan,
    }
    context = {
        "config": config,
        "revision": revision,
        "draft": Draft(text=revision.text, data=text_data(revision.text), checked=checked),
        "difference": revision_difference(revision),
        "started": effective_command(revision),
        "builds": revision.builds.order_by("-number"),
        "previews": revision.calibration_previews.order_by("-created_at")[:SHOWN_PREVIEWS],
        "measurements": latest_measurements(config),
        "is_last": number == config.last_number,  # type: ignore[attr-defined]
    }
    return render(request, "configs/revision.html", context)


def editor_answer(request: HttpRequest, posted: PostedDraft) -> HttpResponse:
    status = UNSAVED_STATUS if posted.conflict else REFUSED_STATUS
    return editor_page(request, posted, status=status)


def editor_page(
    request: HttpRequest,
    posted: PostedDraft,
    *,
    status: int = 200,
    imported: Mapping[str, Any] | None = None,
) -> HttpResponse:
    """Return the editor on a draft; `imported` is what became of a pasted command."""
    context = _context(posted) | {"imported": imported}
    return render(request, "configs/editor.html", context, status=status)


def say_saved(request: HttpRequest, revision: Revision) -> None:
    """Say so on the next page, where the browser then forgets the draft that it kept."""
    messages.success(request, f"Saved as revision {revision.number}.", extra_tags="saved ok")


def _edit(request: HttpRequest, config: Config | None) -> HttpResponse:
    if request.method != "POST":
        return editor_page(request, opened_draft(request, config))
    posted = posted_draft(request, config)
    saved = posted.save()
    if saved is None:
        return editor_answer(request, posted)
    say_saved(request, saved)
    address = reverse("configs:editor", args=[saved.config_id])
    return redirect(address + ("?view=yaml" if posted.view == "yaml" else ""))


def _context(posted: PostedDraft) -> dict[str, Any]:
    return _addresses(posted.config) | {
        "config": posted.config,
        "base": posted.base,
        "measurements": latest_measurements(posted.config),
        "draft": posted.draft,
        "view": posted.view,
        "is_saved": posted.saved_revision is not None,
        "conflict": posted.conflict,
        "clashes": posted.clashes,
        "taken_in": posted.taken_in,
        "refusal": posted.refusal,
        "secret_names": sorted(secret_names(team=posted.user.team)),
        "folders": local_checkpoints() if posted.names_folder else (),
        "calibration_sets": set_names(team=posted.user.team),
    }


def _addresses(config: Config | None) -> dict[str, str]:
    if config is None:
        return {
            "check_url": reverse("configs:check_new"),
            "fit_url": reverse("configs:fit_new"),
            "save_url": reverse("configs:new"),
            "build_url": reverse("builds:start_new"),
        }
    return {
        "check_url": reverse("configs:check", args=[config.id]),
        "fit_url": reverse("configs:fit", args=[config.id]),
        "save_url": reverse("configs:editor", args=[config.id]),
        "build_url": reverse("builds:start", args=[config.id]),
    }
