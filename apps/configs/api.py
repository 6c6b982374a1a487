from collections.abc import Mapping
from typing import Any

import yaml
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.rest_views import TeamView
from apps.configs.config_bodies import (
    ConfigBody,
    ConfigCreateBody,
    RevisionCreateBody,
    either_way,
)
from apps.configs.models import Revision
from apps.configs.selectors import (
    config_get,
    config_list,
    revision_get,
    revision_last,
    revision_list,
)
from apps.configs.serializers import (
    CommandBody,
    CommandImportObject,
    ConfigDetailObject,
    ConfigExportObject,
    ConfigObject,
    ConfigPage,
    ConfigRenameBody,
    ExaminationObject,
    ExportQuery,
    RevisionDetailObject,
    RevisionObject,
    RevisionPage,
)
from apps.configs.services.configs import config_create, revision_create
from apps.configs.services.examination import examine_text, revision_examine
from apps.configs.services.renaming import config_rename
from apps.configs.starts import owned_gpus
from apps.rest.errors import InvalidInput, NotFound
from apps.rest.paging import PageQuery, page_of
from apps.rest.serializers import Error, validated
from controlplane.domain.commands.invocation import RefusedCommandError
from controlplane.domain.runtimes.exporting import ExportFormat, NotAConfigError, export_config
from controlplane.domain.runtimes.importing import import_command

_CONFLICT = OpenApiResponse(Error, description="The name is taken.")
_STALE = OpenApiResponse(
    Error, description="Someone saved another revision first; `details` has both texts."
)


class ConfigListView(TeamView):
    @extend_schema(parameters=[PageQuery], responses=ConfigPage)
    def get(self, request: Request) -> Response:
        """Return the team's configs, newest first."""
        page = page_of(config_list(team=self.team), **validated(PageQuery, request.query_params))
        return Response(page.to_json(ConfigObject))

    @extend_schema(
        request=either_way(ConfigCreateBody), responses={201: ConfigDetailObject, 409: _CONFLICT}
    )
    def post(self, request: Request) -> Response:
        """Make a config with its first revision."""
        body = validated(ConfigCreateBody, request.data)
        config = config_create(
            team=self.team, name=body["name"], text=text_of(body), user=self.user
        )
        return Response(self._detail(config.id), status=201)

    def _detail(self, config_id: str) -> dict[str, Any]:
        config = config_get(team=self.team, config_id=config_id)
        last = revision_last(config=config)
        return {
            **ConfigObject(config).data,
            "last_revision": revision_json(last) if last else None,
        }


class ConfigDetailView(ConfigListView):
    http_method_names = ["get", "head", "options", "patch"]

    @extend_schema(responses=ConfigDetailObject)
    def get(self, request: Request, config_id: str) -> Response:  # type: ignore[override]
        """Return a config with its last revision, checked now."""
        return Response(self._detail(config_id))

    @extend_schema(request=ConfigRenameBody, responses={200: ConfigDetailObject, 409: _CONFLICT})
    def patch(self, request: Request, config_id: str) -> Response:
        """Rename a config; its id, revisions and builds stay as they are."""
        body = validated(ConfigRenameBody, request.data)
        config_rename(config=config_get(team=self.team, config_id=config_id), name=body["name"])
        return Response(self._detail(config_id))


class RevisionListView(TeamView):
    @extend_schema(parameters=[PageQuery], responses=RevisionPage)
    def get(self, request: Request, config_id: str) -> Response:
        """Return the revisions of a config, the last first."""
        config = config_get(team=self.team, config_id=config_id)
        query = validated(PageQuery, request.query_params)
        page = page_of(revision_list(config=config).defer("text", "spec"), **query)
        return Response(page.to_json(RevisionObject))

    @extend_schema(
        request=either_way(RevisionCreateBody), responses={201: RevisionDetailObject, 409: _STALE}
    )
    def post(self, request: Request, config_id: str) -> Response:
        """Save a text as the next revision, unless someone else did so first."""
        config = config_get(team=self.team, config_id=config_id)
        body = validated(RevisionCreateBody, request.data)
        revision = revision_create(
            config=config,
            text=text_of(body),
            user=self.user,
            expected_revision=body["expected_revision"],
        )
        return Response(revision_json(revision), status=201)


class RevisionDetailView(TeamView):
    @extend_schema(responses=RevisionDetailObject)
    def get(self, request: Request, config_id: str, number: int) -> Response:
        """Return one revision, checked now."""
        config = config_get(team=self.team, config_id=config_id)
        return Response(revision_json(revision_get(config=config, number=number)))


class CheckView(TeamView):
    @extend_schema(request=either_way(ConfigBody), responses=ExaminationObject)
    def post(self, request: Request) -> Response:
        """Check a config without keeping it; facts that are not here yet are asked for."""
        text = text_of(validated(ConfigBody, request.data))
        return Response(examine_text(team=self.team, text=text).to_json())


class ImportView(TeamView):
    @extend_schema(request=CommandBody, responses=CommandImportObject)
    def post(self, request: Request) -> Response:
        """Return the config that a pasted command means; nothing is run, kept or fetched."""
        command = validated(CommandBody, request.data)["command"]
        try:
            return Response(import_command(command, owned_gpus()).to_json())
        except RefusedCommandError as refusal:
            raise InvalidInput(
                str(refusal), code="not_a_command", fields=["command"], hint=refusal.hint
            ) from None


class ExportView(TeamView):
    @extend_schema(parameters=[ExportQuery], responses=ConfigExportObject)
    def get(self, request: Request, config_id: str) -> Response:
        """Return a revision as a command or a file of another program, and what that leaves out."""
        query = validated(ExportQuery, request.query_params)
        config = config_get(team=self.team, config_id=config_id)
        number = query.get("revision")
        revision = (
            revision_get(config=config, number=number) if number else revision_last(config=config)
        )
        if revision is None:
            raise NotFound(f"The config `{config.id}` has no revision.")
        try:
            return Response(export_config(revision.text, ExportFormat(query["format"])).to_json())
        except NotAConfigError as error:
            raise InvalidInput(
                f"Revision {revision.number} is no config any more: {error}",
                code=error.errors[0].code,
                fields=[each.path for each in error.errors],
                hint="Save a revision that passes the checks.",
            ) from None


def text_of(body: Mapping[str, Any]) -> str:
    """Return the text as it was sent, or the object written as YAML in its own order."""
    if "text" in body:
        return str(body["text"])
    return str(yaml.safe_dump(body["config"], sort_keys=False, allow_unicode=True))


def revision_json(revision: Revision) -> dict[str, Any]:
    examination = revision_examine(revision=revision).to_json()
    return {
        **RevisionObject(revision).data,
        "text": revision.text,
        "config": revision.spec,
        "examination": examination,
    }
