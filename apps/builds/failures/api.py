"""Over REST: what the fix of a failed build would change, applying it, and the support bundle."""

from typing import Any

from django.http import StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.builds import examples
from apps.builds.api import BuildView
from apps.builds.failures.fixes import fix_proposal
from apps.builds.failures.services import build_apply_fix
from apps.builds.failures.support_bundle import support_bundle_answer
from apps.builds.selectors import build_detail
from apps.builds.serializers import BuildDetailObject
from apps.rest.errors import NotFound
from apps.rest.examples import shown_as
from apps.rest.serializers import Error


class BuildFixChangeObject(serializers.Serializer[Any]):
    """One setting before and after; null where it is left out."""

    field = serializers.CharField(help_text="Dotted path of the setting.")
    old = serializers.JSONField(
        allow_null=True, help_text="The value before; null where it was left out."
    )
    new = serializers.JSONField(
        allow_null=True, help_text="The value after; null where it is left out."
    )


@shown_as(examples.FIX)
class BuildFixObject(serializers.Serializer[Any]):
    """What the fix would change in the newest text of the config."""

    base_revision = serializers.IntegerField(
        source="base.number", help_text="The newest revision, which the fix would change."
    )
    moved_on = serializers.BooleanField(
        help_text="Whether the config was saved again since the build was made."
    )
    changes = BuildFixChangeObject(many=True, help_text="The settings that it would change.")
    difference = serializers.ListField(
        child=serializers.CharField(), help_text="Lines that begin with `- `, `+ ` or blanks."
    )
    problem = serializers.CharField(allow_null=True, help_text="Why the fix no longer fits.")


class BuildFixView(BuildView):
    @extend_schema(responses=BuildFixObject)
    def get(self, request: Request, build_id: str) -> Response:
        """Return what the fix of a build's failure would change now."""
        build = self.build()
        proposal = fix_proposal(build)
        if proposal is None:
            raise NotFound(f"The failure of build `{build.id}` has no fix.")
        return Response(BuildFixObject(proposal).data)


class BuildApplyFixView(BuildView):
    @extend_schema(
        request=None,
        responses={
            200: OpenApiResponse(BuildDetailObject, description="It was made before."),
            201: BuildDetailObject,
            400: OpenApiResponse(Error, description="The fix no longer fits the config."),
            409: OpenApiResponse(Error, description="The checks block the new revision."),
        },
    )
    def post(self, request: Request, build_id: str) -> Response:
        """Save the newest config with the fix of the build's failure, and build that."""
        applied = build_apply_fix(build=self.build(), user=self.user)
        build = build_detail(team=self.team, build_id=applied.build.id)
        return Response(BuildDetailObject(build).data, status=201 if applied.is_new else 200)


class BuildSupportBundleView(BuildView):
    @extend_schema(responses={(200, "application/zip"): OpenApiTypes.BINARY})
    def get(self, request: Request, build_id: str) -> StreamingHttpResponse:
        """Return a zip of config, checks, steps, log ends and versions, without secrets."""
        return support_bundle_answer(request._request, self.build())
