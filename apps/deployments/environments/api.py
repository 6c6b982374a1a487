from collections.abc import Callable

from django.db import transaction
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.rest_views import TeamView
from apps.deployments.autoscaling.schedules import schedules_update
from apps.deployments.bodies import EnvironmentCreateBody, EnvironmentPatchBody, PromoteBody
from apps.deployments.environments.promoting import environment_promote
from apps.deployments.environments.restrictions import require_environment
from apps.deployments.environments.rollback import environment_roll_back
from apps.deployments.environments.serializers import (
    EnvironmentListObject,
    EnvironmentObject,
    EnvironmentPatchedObject,
)
from apps.deployments.environments.services import (
    environment_configure,
    environment_create,
    environment_delete,
)
from apps.deployments.models import Deployment, Environment
from apps.deployments.selectors import deployment_get, environment_get, environment_list, model_get
from apps.deployments.serializers import DeploymentObject, SuccessObject
from apps.deployments.services.autoscaling import autoscaling_update
from apps.deployments.services.backpressure import backpressure_update
from apps.deployments.services.deployments import deployment_activate, deployment_deactivate
from apps.rest.errors import Conflict
from apps.rest.paging import ListQuery, page_of
from apps.rest.serializers import validated


class EnvironmentListView(TeamView):
    @extend_schema(parameters=[ListQuery], responses=EnvironmentListObject)
    def get(self, request: Request, model_id: str) -> Response:
        """Return the model's environments, production first."""
        model = model_get(team=self.team, model_id=model_id)
        environments = environment_list(team=self.team, model_id=model.id)
        page = page_of(environments, by="id", **validated(ListQuery, request.query_params))
        return Response(page.to_json(EnvironmentObject, under="environments"))

    @extend_schema(request=EnvironmentCreateBody, responses={201: EnvironmentObject})
    def post(self, request: Request, model_id: str) -> Response:
        """Make an empty environment."""
        body = validated(EnvironmentCreateBody, request.data)
        require_environment(self.actor, body["name"])
        model = model_get(team=self.team, model_id=model_id)
        with transaction.atomic():
            full = body.get("request_backpressure_settings", {})
            made = environment_create(
                model=model, name=body["name"], backpressure_policy=full.get("policy")
            )
            environment_configure(
                environment=made, promotion_settings=body.get("promotion_settings", {})
            )
        environment = environment_get(team=self.team, model_id=model_id, name=made.name)
        return Response(EnvironmentObject(environment).data, status=201)


class EnvironmentView(TeamView):
    def environment(self) -> Environment:
        return environment_get(
            team=self.team, model_id=self.kwargs["model_id"], name=self.kwargs["name"]
        )

    def changeable(self) -> Environment:
        """Return it for a change. Raises NotFound, or NotAllowed where it is restricted."""
        environment = self.environment()
        require_environment(self.actor, environment.name)
        return environment

    def current(self) -> Deployment:
        """Return what is deployed there, for a change. Raises NotAllowed or Conflict."""
        environment = self.changeable()
        if environment.current is None:
            raise Conflict(f"Nothing is deployed to `{environment.name}` yet.")
        return environment.current


class EnvironmentDetailView(EnvironmentView):
    @extend_schema(responses=EnvironmentObject)
    def get(self, request: Request, **path: str) -> Response:
        """Return an environment."""
        return Response(EnvironmentObject(self.environment()).data)

    @extend_schema(request=EnvironmentPatchBody, responses=EnvironmentPatchedObject)
    def patch(self, request: Request, **path: str) -> Response:
        """Change how promotion cleans up, how many replicas run, and what is beyond them."""
        body = validated(EnvironmentPatchBody, request.data)
        status, message = "ACCEPTED", "Stored."
        self.changeable()
        if "autoscaling_settings" in body:
            answer = autoscaling_update(
                deployment=self.current(), changes=body["autoscaling_settings"]
            )
            status, message = answer.status, answer.message
        if "request_backpressure_settings" in body:
            backpressure_update(
                deployment=self.current(), policy=body["request_backpressure_settings"]["policy"]
            )
        if schedules := body.get("autoscaling_schedule_settings"):
            schedules_update(environment=self.changeable(), changes=schedules)
        environment_configure(
            environment=self.changeable(), promotion_settings=body.get("promotion_settings", {})
        )
        shown = EnvironmentObject(self.environment()).data
        return Response({"environment": shown, "status": status, "message": message})

    @extend_schema(responses={200: SuccessObject})
    def delete(self, request: Request, **path: str) -> Response:
        """Delete an environment; what it pointed at stays."""
        environment_delete(environment=self.changeable())
        return Response({"success": True})


class EnvironmentPromoteView(EnvironmentView):
    @extend_schema(request=PromoteBody, responses=DeploymentObject)
    def post(self, request: Request, **path: str) -> Response:
        """Promote a deployment to the environment."""
        body = validated(PromoteBody, request.data)
        model_id = self.kwargs["model_id"]
        candidate = environment_promote(
            environment=self.changeable(),
            deployment=deployment_get(
                team=self.team, model_id=model_id, deployment_id=body["deployment_id"]
            ),
            scale_down_previous=body["scale_down_previous_deployment"],
            user=self.user,
        )
        deployment = deployment_get(team=self.team, model_id=model_id, deployment_id=candidate.id)
        return Response(DeploymentObject(deployment).data)


class EnvironmentRollBackView(EnvironmentView):
    @extend_schema(request=None, responses=DeploymentObject)
    def post(self, request: Request, **path: str) -> Response:
        """Go back to the deployment that served there before, one step further each time."""
        back_to = environment_roll_back(environment=self.changeable(), user=self.user)
        model_id = self.kwargs["model_id"]
        deployment = deployment_get(team=self.team, model_id=model_id, deployment_id=back_to.id)
        return Response(DeploymentObject(deployment).data)


class _EnvironmentSwitchView(EnvironmentView):
    switch: Callable[..., bool]

    @extend_schema(request=None, responses=SuccessObject)
    def post(self, request: Request, **path: str) -> Response:
        """Switch what is deployed there."""
        type(self).switch(deployment=self.current())
        return Response({"success": True})


class EnvironmentActivateView(_EnvironmentSwitchView):
    switch = staticmethod(deployment_activate)


class EnvironmentDeactivateView(_EnvironmentSwitchView):
    switch = staticmethod(deployment_deactivate)
