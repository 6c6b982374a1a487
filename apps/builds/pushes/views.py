from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods, require_POST

from apps.accounts.pages import page, person
from apps.builds.models import Artifact, ArtifactPush
from apps.builds.pushes.requests import push_cancel, push_request, push_retry
from apps.builds.pushes.selectors import push_get, push_list
from apps.builds.selectors import artifact_detail
from apps.secrets.selectors import secret_names
from apps.ui.fragments import live_answer
from apps.ui.listing import page_in


@page
@require_http_methods(["GET", "HEAD", "POST"])
def pushes(request: HttpRequest, artifact_id: str) -> HttpResponse:
    artifact = artifact_detail(team=person(request).team, artifact_id=artifact_id)
    if request.method == "POST":
        return _pushed(request, artifact)
    shown = page_in(request, push_list(artifact=artifact))
    context = {
        "artifact": artifact,
        "pushes": shown,
        "page": shown,
        "secret_names": sorted(secret_names(team=artifact.team)),
    }
    return live_answer(
        request, page="artifacts/pushes.html", part="artifacts/_pushes.html", context=context
    )


@page
@require_POST
def cancel(request: HttpRequest, artifact_id: str, push_id: str) -> HttpResponse:
    push = push_cancel(push=_push(request, artifact_id, push_id))
    return redirect("artifacts:pushes", push.artifact_id)


@page
@require_POST
def retry(request: HttpRequest, artifact_id: str, push_id: str) -> HttpResponse:
    push = push_retry(push=_push(request, artifact_id, push_id))
    return redirect("artifacts:pushes", push.artifact_id)


def _pushed(request: HttpRequest, artifact: Artifact) -> HttpResponse:
    push_request(
        artifact=artifact,
        destination=request.POST.get("destination", ""),
        secret_name=request.POST.get("secret_name", ""),
        private="private" in request.POST,
        user=person(request),
    )
    return redirect("artifacts:pushes", artifact.id)


def _push(request: HttpRequest, artifact_id: str, push_id: str) -> ArtifactPush:
    artifact = artifact_detail(team=person(request).team, artifact_id=artifact_id)
    return push_get(artifact=artifact, push_id=push_id)
