from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_POST

from apps.accounts.pages import page, person
from apps.builds.artifacts.deleting import artifact_delete
from apps.builds.artifacts.download import artifact_archive_answer, passport_document
from apps.builds.passports.page import ArtifactRow, PassportPage
from apps.builds.selectors import (
    artifact_builds,
    artifact_detail,
    artifact_search,
)
from apps.rest.errors import Conflict
from apps.ui.listing import list_query_in, page_in, sorted_rows

_SORTS = {"size": "size_bytes", "published": "created_at"}


@page
@require_GET
def artifacts(request: HttpRequest) -> HttpResponse:
    list_query = list_query_in(request, sorts=_SORTS)
    artifacts = artifact_search(team=person(request).team, words=list_query.words)
    shown = page_in(
        request, sorted_rows(artifacts, list_query.sort, _SORTS, otherwise="-published")
    )
    rows = [ArtifactRow(artifact=artifact) for artifact in shown]
    return render(
        request, "artifacts/list.html", {"rows": rows, "page": shown, "asked": list_query}
    )


@page
@require_GET
def artifact(request: HttpRequest, artifact_id: str) -> HttpResponse:
    """Show an artifact's passport and who uses it; its content digest is an address too."""
    artifact = artifact_detail(team=person(request).team, artifact_id=artifact_id)
    deployments = artifact.deployments.select_related("model").order_by("-created_at")
    context = {
        "artifact": artifact,
        "passport": PassportPage(artifact=artifact),
        "builds": artifact_builds(artifact),
        "deployments": deployments,
    }
    return render(request, "artifacts/artifact.html", context)


@page
@require_POST
def delete(request: HttpRequest, artifact_id: str) -> HttpResponse:
    artifact = artifact_detail(team=person(request).team, artifact_id=artifact_id)
    if request.POST.get("name", "").strip() != artifact.id:
        raise Conflict(
            "The typed identifier is not the artifact's. Nothing was deleted.", fields=["name"]
        )
    artifact_delete(artifact=artifact)
    messages.success(request, f"Artifact `{artifact_id}` is deleted; its files go within a day.")
    return redirect("artifacts:list")


@page
@require_GET
def passport(request: HttpRequest, artifact_id: str) -> HttpResponse:
    artifact = artifact_detail(team=person(request).team, artifact_id=artifact_id)
    answer = JsonResponse(passport_document(artifact), json_dumps_params={"indent": 1})
    answer["Content-Disposition"] = f'attachment; filename="artifact-{artifact.id}.passport.json"'
    return answer


@page
@require_GET
def download(request: HttpRequest, artifact_id: str) -> HttpResponseBase:
    artifact = artifact_detail(team=person(request).team, artifact_id=artifact_id)
    return artifact_archive_answer(request, artifact)
