from collections.abc import Callable

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from apps.deployments.environments.api import EnvironmentView
from apps.deployments.environments.rolling.commands import (
    promotion_cancel,
    promotion_force_cancel,
    promotion_force_forward,
    promotion_pause,
    promotion_resume,
)
from apps.deployments.environments.rolling.history import event_list
from apps.deployments.environments.rolling.serializers import (
    PromotionEventListObject,
    PromotionEventObject,
)
from apps.deployments.serializers import CancelledObject, SuccessObject
from apps.rest.paging import ListQuery, page_of
from apps.rest.serializers import validated
from controlplane.domain.rolling.roll import Status

_CANCELLED = {
    Status.CANCELED: "Traffic stays where it was.",
    Status.RAMPING_DOWN: "Traffic goes back in steps, as replicas are ready to carry it.",
}


class EnvironmentCancelPromotionView(EnvironmentView):
    @extend_schema(request=None, responses=CancelledObject)
    def post(self, request: Request, **path: str) -> Response:
        """Let go of a candidate; what it carries already goes back in steps."""
        status = promotion_cancel(environment=self.changeable())
        return Response({"status": status.value, "message": _CANCELLED[status]})


class _SignalView(EnvironmentView):
    signal: Callable[..., None]

    @extend_schema(request=None, responses=SuccessObject)
    def post(self, request: Request, **path: str) -> Response:
        """Ask something of the promotion under way."""
        type(self).signal(environment=self.changeable())
        return Response({"success": True})


class EnvironmentPausePromotionView(_SignalView):
    signal = staticmethod(promotion_pause)


class EnvironmentResumePromotionView(_SignalView):
    signal = staticmethod(promotion_resume)


class EnvironmentForceCancelPromotionView(_SignalView):
    signal = staticmethod(promotion_force_cancel)


class EnvironmentForceRollForwardPromotionView(_SignalView):
    signal = staticmethod(promotion_force_forward)


class EnvironmentPromotionEventsView(EnvironmentView):
    @extend_schema(parameters=[ListQuery], responses=PromotionEventListObject)
    def get(self, request: Request, **path: str) -> Response:
        """Return what happened to promotions of the environment, newest first."""
        events = event_list(environment=self.environment())
        page = page_of(events, by="-at", **validated(ListQuery, request.query_params))
        return Response(page.to_json(PromotionEventObject, under="events"))
