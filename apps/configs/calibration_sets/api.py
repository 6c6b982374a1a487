from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import UnsupportedMediaType
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.rest_views import TeamView
from apps.configs.calibration_sets.selectors import (
    preview_get,
    set_get,
    set_list,
    version_get,
)
from apps.configs.calibration_sets.serializers import (
    CalibrationHeadObject,
    CalibrationSetObject,
    CalibrationSetPage,
    CalibrationSetTombstone,
    CalibrationUploadBody,
    HeadQuery,
    PreviewBody,
    PreviewObject,
)
from apps.configs.calibration_sets.services.previews import preview_request
from apps.configs.calibration_sets.services.sets import set_delete, set_upload
from apps.configs.selectors import config_get, revision_wanted
from apps.rest.errors import NotAForm
from apps.rest.paging import PageQuery, page_of
from apps.rest.serializers import validated


class CalibrationSetListView(TeamView):
    parser_classes = [MultiPartParser]

    def handle_exception(self, exc: Exception) -> Response:
        if isinstance(exc, UnsupportedMediaType):
            exc = NotAForm(str(exc.detail), hint="Send a form: `-F name=NAME -F file=@FILE`.")
        return super().handle_exception(exc)

    @extend_schema(parameters=[PageQuery], responses=CalibrationSetPage)
    def get(self, request: Request) -> Response:
        """Return the team's calibration sets, newest first."""
        page = page_of(set_list(team=self.team), **validated(PageQuery, request.query_params))
        return Response(page.to_json(CalibrationSetObject))

    @extend_schema(
        request={"multipart/form-data": CalibrationUploadBody},
        responses={201: CalibrationSetObject, 200: CalibrationSetObject},
    )
    def post(self, request: Request) -> Response:
        """Upload a file as a new set, or as the next version of the set of that name.

        200 when the last version has the same content already.
        """
        body = validated(CalibrationUploadBody, request.data)
        upload = set_upload(
            team=self.team,
            name=body["name"],
            file=body["file"],
            file_name=body["file"].name,
            user=self.user,
        )
        calibration_set = set_get(team=self.team, set_id=upload.version.set_id)
        return Response(
            CalibrationSetObject(calibration_set).data, status=201 if upload.is_new else 200
        )


class CalibrationSetDetailView(TeamView):
    @extend_schema(responses=CalibrationSetObject)
    def get(self, request: Request, set_id: str) -> Response:
        """Return one calibration set with its versions."""
        return Response(CalibrationSetObject(set_get(team=self.team, set_id=set_id)).data)

    @extend_schema(responses={200: CalibrationSetTombstone})
    def delete(self, request: Request, set_id: str) -> Response:
        """Delete a set with all its versions."""
        calibration_set = set_get(team=self.team, set_id=set_id)
        body = {"id": calibration_set.id, "name": calibration_set.name, "deleted": True}
        set_delete(calibration_set=calibration_set)
        return Response(body)


class CalibrationHeadView(TeamView):
    @extend_schema(parameters=[HeadQuery], responses=CalibrationHeadObject)
    def get(self, request: Request, set_id: str) -> Response:
        """Return the first rows of a version, the last one where none is named."""
        query = validated(HeadQuery, request.query_params)
        calibration_set = set_get(team=self.team, set_id=set_id)
        version = version_get(calibration_set=calibration_set, number=query.get("version"))
        return Response(CalibrationHeadObject(version).data)


class PreviewListView(TeamView):
    @extend_schema(request=PreviewBody, responses={202: PreviewObject})
    def post(self, request: Request) -> Response:
        """Ask for the first samples as a config's model will see them; read it again until done."""
        body = validated(PreviewBody, request.data)
        config = config_get(team=self.team, config_id=body["config_id"])
        revision = revision_wanted(config=config, number=body.get("revision"))
        preview = preview_request(revision=revision, dataset=body.get("dataset"), user=self.user)
        return Response(PreviewObject(preview).data, status=202)


class PreviewDetailView(TeamView):
    @extend_schema(responses=PreviewObject)
    def get(self, request: Request, preview_id: str) -> Response:
        """Return a preview: waiting, being made, finished with samples, or failed."""
        return Response(PreviewObject(preview_get(team=self.team, preview_id=preview_id)).data)
