from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.rest_views import TeamView
from apps.configs.lookahead_tunings.selectors import tuning_get, tuning_list
from apps.configs.lookahead_tunings.serializers import (
    AppliedTuningObject,
    TuningBody,
    TuningObject,
    TuningPage,
)
from apps.configs.lookahead_tunings.services import (
    tuning_apply,
    tuning_cancel,
    tuning_request,
)
from apps.configs.selectors import config_get, revision_wanted
from apps.rest.paging import PageQuery, page_of
from apps.rest.serializers import validated


class TuningListView(TeamView):
    @extend_schema(parameters=[PageQuery], responses=TuningPage)
    def get(self, request: Request) -> Response:
        """Return the team's lookahead tunings, newest first."""
        page = page_of(tuning_list(team=self.team), **validated(PageQuery, request.query_params))
        return Response(page.to_json(TuningObject))

    @extend_schema(request=TuningBody, responses={202: TuningObject})
    def post(self, request: Request) -> Response:
        """Say a set's answers again under each lookahead setting; read it again until done."""
        body = validated(TuningBody, request.data)
        config = config_get(team=self.team, config_id=body["config_id"])
        tuning = tuning_request(
            revision=revision_wanted(config=config, number=body.get("revision")),
            dataset=body["dataset"],
            requests=body["requests"],
            user=self.user,
        )
        return Response(TuningObject(tuning).data, status=202)


class TuningDetailView(TeamView):
    @extend_schema(responses=TuningObject)
    def get(self, request: Request, tuning_id: str) -> Response:
        """Return a tuning: waiting, running, finished with its result, failed or cancelled."""
        return Response(TuningObject(tuning_get(team=self.team, tuning_id=tuning_id)).data)


class TuningCancelView(TeamView):
    @extend_schema(request=None, responses=TuningObject)
    def post(self, request: Request, tuning_id: str) -> Response:
        """Cancel a tuning; a running one ends within seconds."""
        tuning_cancel(tuning=tuning_get(team=self.team, tuning_id=tuning_id))
        return Response(TuningObject(tuning_get(team=self.team, tuning_id=tuning_id)).data)


class TuningApplyView(TeamView):
    @extend_schema(request=None, responses={201: AppliedTuningObject})
    def post(self, request: Request, tuning_id: str) -> Response:
        """Save the recommended setting as the config's next revision."""
        tuning = tuning_get(team=self.team, tuning_id=tuning_id)
        revision = tuning_apply(tuning=tuning, user=self.user)
        body = {"config_id": revision.config_id, "revision": revision.number}
        return Response(AppliedTuningObject(body).data, status=201)
