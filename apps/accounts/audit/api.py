from typing import ClassVar

from django.http import StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.audit.serializers import AuditEntryObject, AuditExportQuery, AuditQuery
from apps.accounts.audit.trail import audit_list, csv_lines, json_lines
from apps.accounts.examples import AUDIT_CSV, AUDIT_LINES
from apps.accounts.permissions import Action
from apps.accounts.rest_views import TeamView
from apps.rest.examples import file_shown_as
from apps.rest.paging import page_of, page_schema
from apps.rest.serializers import validated
from apps.rest.streaming import download_answer

_FORMATS = {
    "csv": (csv_lines, "text/csv; charset=utf-8"),
    "jsonl": (json_lines, "application/x-ndjson"),
}


class AuditListView(TeamView):
    actions: ClassVar = {"GET": Action.AUDIT}

    @extend_schema(parameters=[AuditQuery], responses=page_schema(AuditEntryObject))
    def get(self, request: Request) -> Response:
        """Return what was changed in the team, newest first; organisation admins see all teams."""
        query = validated(AuditQuery, self.query())
        page = page_of(
            audit_list(self.actor, query),
            limit=query["limit"],
            cursor=query.get("cursor"),
            by="-at",
        )
        return Response(page.to_json(AuditEntryObject))


class AuditExportView(TeamView):
    actions: ClassVar = {"GET": Action.AUDIT}

    @extend_schema(
        parameters=[AuditExportQuery],
        responses={
            (200, "text/csv"): file_shown_as(OpenApiTypes.STR, AUDIT_CSV),
            (200, "application/x-ndjson"): file_shown_as(OpenApiTypes.STR, AUDIT_LINES),
        },
    )
    def get(self, request: Request) -> StreamingHttpResponse:
        """Return all that the filters leave, as a file."""
        query = validated(AuditExportQuery, self.query())
        lines, content_type = _FORMATS[query["as"]]
        return download_answer(
            request._request,
            lines(audit_list(self.actor, query)),
            content_type=content_type,
            file_name=f"audit.{query['as']}",
        )
