"""What can be done about a failed build: apply its fix, or take its support bundle along."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.views.decorators.http import require_GET, require_POST

from apps.accounts.pages import page, person, say_error
from apps.builds.failures.services import build_apply_fix
from apps.builds.failures.support_bundle import support_bundle_answer
from apps.builds.selectors import build_numbered
from apps.rest.errors import Conflict


@page
@require_POST
def fix(request: HttpRequest, number: int) -> HttpResponse:
    failed = build_numbered(person(request).team, number)
    try:
        applied = build_apply_fix(build=failed, user=person(request))
    except Conflict as error:
        # The new revision is saved by now: the page to go on from is the config's own.
        say_error(request, error)
        return redirect("configs:editor", failed.revision.config_id)
    if not applied.is_new:
        messages.info(request, f"Build {applied.build.number} was made with this fix before.")
    return redirect("builds:build", applied.build.number)


@page
@require_GET
def support_bundle(request: HttpRequest, number: int) -> HttpResponseBase:
    return support_bundle_answer(request, build_numbered(person(request).team, number))
