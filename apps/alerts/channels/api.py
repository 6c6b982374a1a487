from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.rest_views import TeamView
from apps.alerts.channels.serializers import (
    AlertChannelBody,
    AlertChannelChangeBody,
    AlertChannelObject,
    AlertChannelPage,
    AlertDeliveryObject,
    AlertDeliveryPage,
)
from apps.alerts.channels.services import (
    channel_change,
    channel_create,
    channel_delete,
    channel_test,
)
from apps.alerts.models import AlertChannel
from apps.alerts.selectors import channel_get, channel_list, delivery_list
from apps.rest.paging import PageQuery, page_of
from apps.rest.serializers import Error, validated

_TAKEN = OpenApiResponse(Error, description="The name is taken, or there are too many.")


class AlertChannelView(TeamView):
    def channel(self) -> AlertChannel:
        return channel_get(team=self.team, channel_id=self.kwargs["channel_id"])


class AlertChannelListView(TeamView):
    @extend_schema(parameters=[PageQuery], responses=AlertChannelPage)
    def get(self, request: Request) -> Response:
        """Return the team's channels by name."""
        query = validated(PageQuery, request.query_params)
        page = page_of(channel_list(team=self.team), by="name", **query)
        return Response(page.to_json(AlertChannelObject))

    @extend_schema(request=AlertChannelBody, responses={201: AlertChannelObject, 409: _TAKEN})
    def post(self, request: Request) -> Response:
        """Make a channel: a webhook, Slack or mailboxes that hear of alerts from now on."""
        body = validated(AlertChannelBody, request.data)
        channel = channel_create(team=self.team, user=self.user, **body)
        return Response(AlertChannelObject(channel).data, status=201)


class AlertChannelDetailView(AlertChannelView):
    @extend_schema(responses=AlertChannelObject)
    def get(self, request: Request, channel_id: str) -> Response:
        """Return one channel."""
        return Response(AlertChannelObject(self.channel()).data)

    @extend_schema(request=AlertChannelChangeBody, responses={200: AlertChannelObject, 409: _TAKEN})
    def patch(self, request: Request, channel_id: str) -> Response:
        """Change or pause a channel."""
        body = validated(AlertChannelChangeBody, request.data)
        channel = channel_change(channel=self.channel(), **body)
        return Response(AlertChannelObject(channel).data)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, channel_id: str) -> Response:
        """Delete a channel; what waits to be sent there is not."""
        channel_delete(channel=self.channel())
        return Response(status=204)


class AlertChannelTestView(AlertChannelView):
    @extend_schema(request=None, responses={202: AlertDeliveryObject})
    def post(self, request: Request, channel_id: str) -> Response:
        """Send a test message; its state is among the channel's deliveries."""
        delivery = channel_test(channel=self.channel())
        return Response(AlertDeliveryObject(delivery).data, status=202)


class AlertDeliveryListView(AlertChannelView):
    @extend_schema(parameters=[PageQuery], responses=AlertDeliveryPage)
    def get(self, request: Request, channel_id: str) -> Response:
        """Return the messages to a channel, newest first, and whether they arrived."""
        query = validated(PageQuery, request.query_params)
        page = page_of(delivery_list(channel=self.channel()), **query)
        return Response(page.to_json(AlertDeliveryObject))
