from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from apps.accounts.pages import page, person, say_error
from apps.builds.presentation import BuildRow, build_context
from apps.builds.selectors import BUILD_SORTS, build_numbered, build_search
from apps.builds.services.requests import build_cancel, build_create, build_promote, build_retry
from apps.configs.drafts import posted_draft
from apps.configs.selectors import config_get
from apps.configs.views import editor_answer, say_saved
from apps.rest.errors import ApiError
from apps.ui.fragments import live_answer
from apps.ui.listing import list_query_in, page_in, sorted_rows
from controlplane.domain.lifecycle import BuildState


@page
@require_GET
def builds(request: HttpRequest) -> HttpResponse:
    list_query = list_query_in(
        request, states=[each.value for each in BuildState], sorts=BUILD_SORTS
    )
    builds = build_search(team=person(request).team, words=list_query.words, state=list_query.state)
    shown = page_in(request, sorted_rows(builds, list_query.sort, BUILD_SORTS))
    rows = [BuildRow(build=build) for build in shown]
    return live_answer(
        request,
        page="builds/list.html",
        part="builds/_list.html",
        context={"rows": rows, "page": shown, "asked": list_query},
    )


@page
@require_GET
def build(request: HttpRequest, number: int) -> HttpResponse:
    build = build_numbered(person(request).team, number)
    context = build_context(build) | {"log_url": reverse("builds:log", args=[number])}
    return live_answer(
        request, page="builds/build.html", part="builds/_build.html", context=context
    )


@page
@require_POST
def cancel(request: HttpRequest, number: int) -> HttpResponse:
    build_cancel(build=build_numbered(person(request).team, number))
    return redirect("builds:build", number)


@page
@require_POST
def retry(request: HttpRequest, number: int) -> HttpResponse:
    build_retry(build=build_numbered(person(request).team, number))
    return redirect("builds:build", number)


@page
@require_POST
def promote(request: HttpRequest, number: int) -> HttpResponse:
    build_promote(
        build=build_numbered(person(request).team, number),
        user=person(request),
        reason=request.POST.get("reason", ""),
    )
    return redirect("builds:build", number)


@page
@require_POST
def start(request: HttpRequest, config_id: str | None = None) -> HttpResponse:
    config = config_get(team=person(request).team, config_id=config_id) if config_id else None
    posted = posted_draft(request, config)
    revision = posted.saved_revision or posted.save()
    if revision is None:
        return editor_answer(request, posted)
    if revision is not posted.saved_revision:
        say_saved(request, revision)
    try:
        started = build_create(revision=revision, user=person(request))
    except ApiError as error:
        # The text is saved by now: the page to go on from is the config's own.
        say_error(request, error)
        return redirect("configs:editor", revision.config_id)
    return redirect("builds:build", started.number)
