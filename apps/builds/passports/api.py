from django.http import HttpRequest
from django.http.response import HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.rest_views import TeamView
from apps.builds.artifacts.download import artifact_archive_answer, passport_document
from apps.builds.examples import PASSPORT
from apps.builds.selectors import artifact_detail
from apps.rest.examples import file_shown_as


class ArtifactPassportView(TeamView):
    @extend_schema(responses=file_shown_as(OpenApiTypes.OBJECT, PASSPORT))
    def get(self, request: Request, artifact_id: str) -> Response:
        """Return the passport: what it was made of, by what, how well, by whom and when."""
        artifact = artifact_detail(team=self.team, artifact_id=artifact_id)
        return Response(passport_document(artifact))


class ArtifactDownloadView(TeamView):
    @extend_schema(
        responses={
            (200, "application/x-tar"): OpenApiResponse(
                OpenApiTypes.BINARY,
                description="The files, each verified while it is sent; a damaged one ends it.",
            )
        }
    )
    def get(self, request: Request, artifact_id: str) -> HttpResponseBase:
        """Return the artifact's files and passport as a tar archive."""
        artifact = artifact_detail(team=self.team, artifact_id=artifact_id)
        plain: HttpRequest = request._request
        return artifact_archive_answer(plain, artifact)
