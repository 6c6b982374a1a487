from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.rest_views import TeamView
from apps.builds.artifacts.deleting import artifact_delete
from apps.builds.models import Build
from apps.builds.selectors import (
    artifact_detail,
    artifact_list,
    build_detail,
    build_list,
    build_log_owners,
    build_rows,
)
from apps.builds.serializers import (
    ArtifactDetailObject,
    ArtifactObject,
    ArtifactPage,
    ArtifactTombstone,
    BuildCreateBody,
    BuildDetailObject,
    BuildLogQuery,
    BuildLogsObject,
    BuildObject,
    BuildPage,
    BuildPromoteBody,
    BuildQuery,
    StepListObject,
)
from apps.builds.services.requests import build_cancel, build_create, build_promote, build_retry
from apps.configs.selectors import config_get, revision_get, revision_last
from apps.rest.errors import InvalidInput
from apps.rest.paging import PageQuery, page_of
from apps.rest.serializers import Error, validated
from apps.telemetry.log_queries import line_json, lines_of

_BLOCKED = OpenApiResponse(
    Error, description="The checks block the revision, or wait for facts of its checkpoint."
)
_USED = OpenApiResponse(Error, description="A deployment has it, or a build is taking it.")
_WRONG_STATE = OpenApiResponse(Error, description="The build is not in a state for this.")


class BuildListView(TeamView):
    @extend_schema(parameters=[BuildQuery], responses=BuildPage)
    def get(self, request: Request) -> Response:
        """Return the team's builds, newest first."""
        query = validated(BuildQuery, request.query_params)
        builds = build_list(
            team=self.team,
            state=query.pop("state", None),
            config_id=query.pop("config_id", None),
        )
        return Response(page_of(build_rows(builds), **query).to_json(BuildObject))

    @extend_schema(request=BuildCreateBody, responses={201: BuildDetailObject, 409: _BLOCKED})
    def post(self, request: Request) -> Response:
        """Start a build of a config's last revision, or of another one by number."""
        body = validated(BuildCreateBody, request.data)
        config = config_get(team=self.team, config_id=body["config_id"])
        number = body.get("revision")
        revision = (
            revision_last(config=config)
            if number is None
            else revision_get(config=config, number=number)
        )
        if revision is None:
            raise InvalidInput(f"The config `{config.id}` has no revision.", fields=["config_id"])
        build = build_create(revision=revision, user=self.user)
        built = build_detail(team=self.team, build_id=build.id)
        return Response(BuildDetailObject(built).data, status=201)


class BuildView(TeamView):
    def build(self) -> Build:
        return build_detail(team=self.team, build_id=self.kwargs["build_id"])


class BuildDetailView(BuildView):
    @extend_schema(responses=BuildDetailObject)
    def get(self, request: Request, build_id: str) -> Response:
        """Return a build with its steps."""
        return Response(BuildDetailObject(self.build()).data)


class BuildCancelView(BuildView):
    @extend_schema(request=None, responses={200: BuildDetailObject, 409: _WRONG_STATE})
    def post(self, request: Request, build_id: str) -> Response:
        """Cancel a build: a queued one at once, a running one within five seconds."""
        build_cancel(build=self.build())
        return Response(BuildDetailObject(self.build()).data)


class BuildRetryView(BuildView):
    @extend_schema(request=None, responses={200: BuildDetailObject, 409: _WRONG_STATE})
    def post(self, request: Request, build_id: str) -> Response:
        """Put a failed or cancelled build back into the queue; finished steps are reused."""
        build_retry(build=self.build())
        return Response(BuildDetailObject(self.build()).data)


class BuildPromoteView(BuildView):
    @extend_schema(request=BuildPromoteBody, responses={200: BuildDetailObject, 409: _WRONG_STATE})
    def post(self, request: Request, build_id: str) -> Response:
        """Go on with a build that the quality gate stopped; the reason is kept with it."""
        build = self.build()
        body = validated(BuildPromoteBody, request.data)
        build_promote(build=build, user=self.user, reason=body["reason"])
        return Response(BuildDetailObject(self.build()).data)


class BuildStepsView(BuildView):
    @extend_schema(responses=StepListObject)
    def get(self, request: Request, build_id: str) -> Response:
        """Return the steps of a build, in order."""
        return Response(StepListObject({"steps": self.build().steps.all()}).data)


class BuildLogsView(BuildView):
    @extend_schema(parameters=[BuildLogQuery], responses=BuildLogsObject)
    def get(self, request: Request, build_id: str) -> Response:
        """Return lines of a build's log, of one step or of all."""
        build = self.build()
        query = validated(BuildLogQuery, request.query_params)
        owners = build_log_owners(build=build, step=query.get("step"))
        if not owners:
            raise InvalidInput(
                f"`step`: build `{build.id}` has no step `{query['step']}`.",
                fields=["step"],
                hint="Its steps are " + ", ".join(f"`{s.name}`" for s in build.steps.all()) + ".",
            )
        lines = lines_of(owners, query, attempt=query.get("attempt", build.attempt))
        return Response(
            {"logs": [line_json(line) | {"step": line.owner.split(":")[-1]} for line in lines]}
        )


class ArtifactListView(TeamView):
    @extend_schema(parameters=[PageQuery], responses=ArtifactPage)
    def get(self, request: Request) -> Response:
        """Return the team's artifacts, newest first."""
        page = page_of(artifact_list(team=self.team), **validated(PageQuery, request.query_params))
        return Response(page.to_json(ArtifactObject))


class ArtifactDetailView(TeamView):
    @extend_schema(responses=ArtifactDetailObject)
    def get(self, request: Request, artifact_id: str) -> Response:
        """Return an artifact with its files and passport."""
        artifact = artifact_detail(team=self.team, artifact_id=artifact_id)
        return Response(ArtifactDetailObject(artifact).data)

    @extend_schema(responses={200: ArtifactTombstone, 409: _USED})
    def delete(self, request: Request, artifact_id: str) -> Response:
        """Delete an artifact; its files go within a day, the builds that made it stay."""
        artifact = artifact_detail(team=self.team, artifact_id=artifact_id)
        body = {"id": artifact.id, "deleted": True}
        artifact_delete(artifact=artifact)
        return Response(body)
