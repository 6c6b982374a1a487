from collections.abc import Sequence

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from apps.accounts.models import Team
from apps.accounts.pages import page, person
from apps.configs.calibration_sets.forms import UploadForm
from apps.configs.calibration_sets.models import CalibrationSet
from apps.configs.calibration_sets.presentation import SET_SORTS, preview_context, set_rows
from apps.configs.calibration_sets.selectors import (
    named_data,
    preview_get,
    previews_of,
    revisions_naming,
    set_get,
    set_list,
    version_get,
)
from apps.configs.calibration_sets.services.previews import preview_request
from apps.configs.calibration_sets.services.sets import set_delete, set_upload
from apps.configs.models import Config
from apps.configs.selectors import config_get, config_list, revision_wanted
from apps.rest.errors import ApiError, Conflict
from apps.rest.numbers import whole_number
from apps.ui.fragments import live_answer
from apps.ui.listing import list_query_in, sorted_items
from controlplane.domain.facts.calibration_sets import PREFIX

_SHOWN_PREVIEWS = 5


@page
@require_http_methods(["GET", "POST"])
def sets(request: HttpRequest) -> HttpResponse:
    form = UploadForm(request.POST or None, request.FILES or None)
    if form.is_valid() and (answer := _uploaded(request, form)):
        return answer
    team = person(request).team
    sets_of_team = list(set_list(team=team).order_by("name"))
    list_query = list_query_in(request, sorts=SET_SORTS)
    rows = sorted_items(
        set_rows(sets_of_team, _naming(team, sets_of_team)), list_query.sort, SET_SORTS
    )
    context = {"form": form, "rows": rows, "asked": list_query}
    status = 400 if form.errors else 200
    return render(request, "calibration_sets/list.html", context, status=status)


@page
@require_GET
def calibration_set(request: HttpRequest, set_id: str) -> HttpResponse:
    team = person(request).team
    calibration_set = set_get(team=team, set_id=set_id)
    dataset = f"{PREFIX}{calibration_set.name}"
    context = {
        "set": calibration_set,
        "dataset": dataset,
        "versions": calibration_set.versions.all(),
        "shown": version_get(
            calibration_set=calibration_set, number=whole_number(request.GET.get("version", ""))
        ),
        "naming": _naming(team, [calibration_set])[calibration_set.name],
        "configs": config_list(team=team).order_by("-updated_at")[:100],
        "previews": previews_of(calibration_set)[:_SHOWN_PREVIEWS],
    }
    return render(request, "calibration_sets/set.html", context)


@page
@require_POST
def delete(request: HttpRequest, set_id: str) -> HttpResponse:
    calibration_set = set_get(team=person(request).team, set_id=set_id)
    if request.POST.get("name", "").strip() != calibration_set.name:
        raise Conflict("The typed name is not the set's. Nothing was deleted.", fields=["name"])
    set_delete(calibration_set=calibration_set)
    messages.success(request, f"`{PREFIX}{calibration_set.name}` is deleted.")
    return redirect("calibration_sets:list")


@page
@require_POST
def start_preview(request: HttpRequest) -> HttpResponse:
    config = config_get(team=person(request).team, config_id=request.POST.get("config", ""))
    number = whole_number(request.POST.get("revision", ""))
    preview = preview_request(
        revision=revision_wanted(config=config, number=number),
        dataset=request.POST.get("dataset") or None,
        user=person(request),
    )
    return redirect("calibration_sets:preview", preview.id)


@page
@require_GET
def preview(request: HttpRequest, preview_id: str) -> HttpResponse:
    preview = preview_get(team=person(request).team, preview_id=preview_id)
    return live_answer(
        request,
        page="calibration_sets/preview.html",
        part="calibration_sets/_preview.html",
        context=preview_context(preview),
    )


def _uploaded(request: HttpRequest, form: UploadForm) -> HttpResponse | None:
    """Return the way to the set, or None with the reason beside the field at fault."""
    file = form.cleaned_data["file"]
    try:
        upload = set_upload(
            team=person(request).team,
            name=form.cleaned_data["name"],
            file=file,
            file_name=file.name,
            user=person(request),
        )
    except ApiError as error:
        field = error.fields[0] if error.fields and error.fields[0] in form.fields else "file"
        form.add_error(field, f"{error.message} {error.hint or ''}".strip())
        return None
    name, number = upload.version.set.name, upload.version.number
    outcome = f"is kept as version {number}" if upload.is_new else f"is version {number} already"
    messages.success(request, f"`{PREFIX}{name}`: `{upload.version.uploaded_name}` {outcome}.")
    return redirect("calibration_sets:set", upload.version.set_id)


def _naming(team: Team, sets_shown: Sequence[CalibrationSet]) -> dict[str, list[Config]]:
    """Return set name -> the configs whose last revision names it."""
    naming: dict[str, list[Config]] = {each.name: [] for each in sets_shown}
    for revision in revisions_naming(team=team, names=list(naming)):
        for dataset in named_data(revision.spec):
            name = dataset.removeprefix(PREFIX).partition("@")[0]
            if revision.config not in naming.get(name, [revision.config]):
                naming[name].append(revision.config)
    return naming
