from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from apps.accounts.pages import allowed_page, person
from apps.accounts.permissions import Action
from apps.builds.selectors import build_list
from apps.configs.remote_code.selectors import grant_get, grant_list
from apps.configs.remote_code.services import remote_code_grant, remote_code_revoke
from apps.configs.selectors import config_get, facts_known, revision_last
from apps.deployments.remote_code.api import with_running
from apps.deployments.remote_code.forms import GrantForm, RevokeForm
from apps.rest.errors import ApiError, InvalidInput, NotFound
from apps.rest.numbers import whole_number
from apps.ui.listing import page_in
from controlplane.domain.remote_code import short_commit
from controlplane.domain.spec import CheckpointRepository, Spec, parse_text
from controlplane.domain.spec.repository_forms import shown
from controlplane.domain.step_results import FetchResult


@allowed_page(Action.REMOTE_CODE)
@require_http_methods(["GET", "POST"])
def grants(request: HttpRequest) -> HttpResponse:
    """Show every grant, or take a new one; the address may name the build or config it is for."""
    form = GrantForm(request.POST or None, initial=_prefilled(request))
    if form.is_valid() and (answer := _granted(request, form)):
        return answer
    page = page_in(request, grant_list().order_by("-created_at", "-id"))
    context = {"form": form, "page": page, "grants": with_running(list(page.object_list))}
    status = 400 if form.errors else 200
    return render(request, "remote_code/page.html", context, status=status)


@allowed_page(Action.REMOTE_CODE)
@require_POST
def revoke(request: HttpRequest, grant_id: str) -> HttpResponse:
    form = RevokeForm(request.POST)
    if not form.is_valid():
        words = "Say why this code may run no more, in at most 1,000 characters."
        raise InvalidInput(words, fields=["reason"])
    grant = remote_code_revoke(
        grant=grant_get(grant_id=grant_id),
        reason=form.cleaned_data["reason"],
        user=person(request),
    )
    messages.success(
        request,
        f"The code of `{grant.repo}` at `{short_commit(grant.commit)}` is revoked: nothing new is "
        "built or deployed with it.",
    )
    return redirect("remote_code:list")


def _granted(request: HttpRequest, form: GrantForm) -> HttpResponse | None:
    """Return the way back to the list, or None with the reason beside the field at fault."""
    try:
        grant = remote_code_grant(**form.values(), user=person(request))
    except ApiError as error:
        field = error.fields[0] if error.fields and error.fields[0] in form.fields else None
        form.add_error(field, f"{error.message} {error.hint or ''}".strip())
        return None
    messages.success(
        request,
        f"`{grant.repo}` may run its own code at `{short_commit(grant.commit)}` from now on.",
    )
    return redirect("remote_code:list")


def _prefilled(request: HttpRequest) -> dict[str, str]:
    """Return what to fill in for the build or the config that the address names."""
    team = person(request).team
    number = whole_number(request.GET.get("build", ""))
    if number is not None:
        build = build_list(team=team).filter(number=number).first()
        if build is None:
            raise NotFound(f"There is no build {number}.")
        step = build.steps.filter(name="fetch").first()
        commit = FetchResult.model_validate(step.result).commit if step and step.result else ""
        return _filled(Spec.model_validate(build.revision.spec).checkpoint, commit)
    if "config" in request.GET:
        config = config_get(team=team, config_id=request.GET["config"].replace("\0", ""))
        revision = revision_last(config=config)
        spec = parse_text(revision.text).spec if revision else None
        checkpoint = spec.checkpoint if spec else None
        facts = facts_known(team=team, checkpoint=checkpoint)
        return _filled(checkpoint, (facts.commit if facts else None) or "")
    return {}


def _filled(checkpoint: CheckpointRepository | None, commit: str) -> dict[str, str]:
    if checkpoint is None:
        return {}
    return {"source": checkpoint.source.value, "repo": shown(checkpoint.repo), "commit": commit}
