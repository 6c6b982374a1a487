from typing import ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.permissions import Action
from apps.accounts.rest_views import TeamView
from apps.configs.traffic_samples.presentation import consent_fields
from apps.configs.traffic_samples.serializers import ConsentBody, ConsentObject
from apps.configs.traffic_samples.services import consent_give, consent_revoke, samples_delete
from apps.rest.serializers import validated


class TrafficSamplesView(TeamView):
    actions: ClassVar = {"POST": Action.SAMPLE_TRAFFIC, "DELETE": Action.SAMPLE_TRAFFIC}

    @extend_schema(responses=ConsentObject)
    def get(self, request: Request) -> Response:
        """Return the team's consent to sampling its traffic, and how much gateways hold."""
        return Response(ConsentObject(consent_fields(self.team)).data)

    @extend_schema(request=ConsentBody, responses=ConsentObject)
    def post(self, request: Request) -> Response:
        """Consent to outlines of a share of the team's answers being kept on its gateways."""
        consent_give(team=self.team, user=self.user, **validated(ConsentBody, request.data))
        return Response(ConsentObject(consent_fields(self.team)).data)

    @extend_schema(responses={204: None})
    def delete(self, request: Request) -> Response:
        """Take the consent back; gateways delete what they hold within seconds."""
        consent_revoke(team=self.team)
        return Response(status=204)


class HeldSamplesView(TeamView):
    actions: ClassVar = {"DELETE": Action.SAMPLE_TRAFFIC}

    @extend_schema(responses={204: None})
    def delete(self, request: Request) -> Response:
        """Delete all samples of the team; new ones come by the same consent."""
        samples_delete(team=self.team)
        return Response(status=204)
