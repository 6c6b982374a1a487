"""Deployments over REST. `production` in place of an id means the current one there."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.rest_views import TeamView
from apps.deployments.autoscaling.settings_objects import (
    AutoscalingAnswerObject,
    BackpressureObject,
)
from apps.deployments.bodies import (
    AutoscalingBody,
    BackpressureBody,
    ConfigQuery,
    DeploymentCreateBody,
    DeploymentLogQuery,
    DeploymentRenameBody,
    NameQuery,
    PromoteToProductionBody,
)
from apps.deployments.environments.promoting import environment_promote
from apps.deployments.environments.restrictions import (
    require_deployment,
    require_environment,
    require_first_place,
)
from apps.deployments.models import PRODUCTION, Deployment
from apps.deployments.nodes.ejections import with_ejections
from apps.deployments.nodes.serializers import (
    FailedStartsListObject,
    FailedStartsObject,
    ReplicaListObject,
    ReplicaObject,
)
from apps.deployments.selectors import (
    build_get,
    deployment_get,
    deployment_list,
    environment_get,
    failed_starts_of,
    model_get,
    replica_list,
)
from apps.deployments.serializers import (
    DeploymentConfigObject,
    DeploymentListObject,
    DeploymentLogsObject,
    DeploymentObject,
    DeploymentTombstone,
    RetriedObject,
    SuccessObject,
)
from apps.deployments.services.autoscaling import autoscaling_update
from apps.deployments.services.backpressure import backpressure_settings, backpressure_update
from apps.deployments.services.deleting import deployment_delete
from apps.deployments.services.deployments import (
    deployment_activate,
    deployment_create,
    deployment_deactivate,
    deployment_rename,
    deployment_retry,
)
from apps.rest.paging import ListQuery, page_of
from apps.rest.serializers import validated
from apps.telemetry.log_queries import line_json, lines_of


class DeploymentListView(TeamView):
    @extend_schema(parameters=[NameQuery], responses=DeploymentListObject)
    def get(self, request: Request, model_id: str) -> Response:
        """Return the model's deployments, newest first."""
        model = model_get(team=self.team, model_id=model_id)
        query = validated(NameQuery, request.query_params)
        deployments = deployment_list(
            team=self.team, model_id=model.id, name=query.pop("name", None)
        )
        return Response(
            page_of(deployments, **query).to_json(DeploymentObject, under="deployments")
        )

    @extend_schema(request=DeploymentCreateBody, responses={201: DeploymentObject})
    def post(self, request: Request, model_id: str) -> Response:
        """Deploy a build; `environment` promotes it there once it is ready."""
        body = validated(DeploymentCreateBody, request.data)
        model = model_get(team=self.team, model_id=model_id)
        require_first_place(self.actor, model, body.get("environment"))
        made = deployment_create(
            model=model,
            build=build_get(team=self.team, build_id=body["source"]["build_id"]),
            environment=body.get("environment"),
            name=body.get("name"),
            user=self.user,
        )
        deployment = deployment_get(team=self.team, model_id=model_id, deployment_id=made.id)
        return Response(DeploymentObject(deployment).data, status=201)


class DeploymentView(TeamView):
    def deployment(self) -> Deployment:
        return deployment_get(
            team=self.team,
            model_id=self.kwargs["model_id"],
            deployment_id=self.kwargs["deployment_id"],
        )

    def changeable(self) -> Deployment:
        """Return it for a change. Raises NotFound, or NotAllowed for a restricted environment."""
        return require_deployment(self.actor, self.deployment())


class DeploymentDetailView(DeploymentView):
    @extend_schema(responses=DeploymentObject)
    def get(self, request: Request, **path: str) -> Response:
        """Return a deployment."""
        return Response(DeploymentObject(self.deployment()).data)

    @extend_schema(request=DeploymentRenameBody, responses=DeploymentObject)
    def patch(self, request: Request, **path: str) -> Response:
        """Rename a deployment."""
        body = validated(DeploymentRenameBody, request.data)
        deployment_rename(deployment=self.changeable(), name=body["name"])
        return Response(DeploymentObject(self.deployment()).data)

    @extend_schema(responses={200: DeploymentTombstone})
    def delete(self, request: Request, **path: str) -> Response:
        """Delete a deployment; 409 while it runs or an environment points at it."""
        deployment = self.changeable()
        body = {"id": deployment.id, "deleted": True, "model_id": deployment.model_id}
        deployment_delete(deployment=deployment)
        return Response(body)


class AutoscalingView(DeploymentView):
    @extend_schema(request=AutoscalingBody, responses=AutoscalingAnswerObject)
    def patch(self, request: Request, **path: str) -> Response:
        """Change how many replicas run."""
        body = validated(AutoscalingBody, request.data)
        answer = autoscaling_update(deployment=self.changeable(), changes=body)
        return Response({"status": answer.status, "message": answer.message})


class BackpressureView(DeploymentView):
    @extend_schema(request=BackpressureBody, responses=BackpressureObject)
    def patch(self, request: Request, **path: str) -> Response:
        """Change what becomes of requests beyond what replicas carry."""
        body = validated(BackpressureBody, request.data)
        deployment = backpressure_update(deployment=self.changeable(), policy=body["policy"])
        return Response(
            BackpressureObject(backpressure_settings(deployment.backpressure_policy)).data
        )


class ActivateView(DeploymentView):
    @extend_schema(request=None, responses=SuccessObject)
    def post(self, request: Request, **path: str) -> Response:
        """Have an inactive deployment run again."""
        deployment_activate(deployment=self.changeable())
        return Response({"success": True})


class DeactivateView(DeploymentView):
    @extend_schema(request=None, responses=SuccessObject)
    def post(self, request: Request, **path: str) -> Response:
        """Stop a deployment once it has left every gateway's routes."""
        deployment_deactivate(deployment=self.changeable())
        return Response({"success": True})


class RetryView(DeploymentView):
    @extend_schema(request=None, responses=RetriedObject)
    def post(self, request: Request, **path: str) -> Response:
        """Try a failed deployment again, its build included where that failed."""
        retried, reason = deployment_retry(deployment=self.changeable())
        body: dict[str, Any] = {"retried": retried, "reason": reason}
        return Response({**body, "deployment": DeploymentObject(self.deployment()).data})


class PromoteView(DeploymentView):
    @extend_schema(request=PromoteToProductionBody, responses=DeploymentObject)
    def post(self, request: Request, **path: str) -> Response:
        """Promote the deployment to production."""
        body = validated(PromoteToProductionBody, request.data)
        model_id = self.kwargs["model_id"]
        require_environment(self.actor, PRODUCTION)
        candidate = environment_promote(
            environment=environment_get(team=self.team, model_id=model_id, name=PRODUCTION),
            deployment=self.deployment(),
            scale_down_previous=body["scale_down_previous_production"],
            user=self.user,
        )
        deployment = deployment_get(team=self.team, model_id=model_id, deployment_id=candidate.id)
        return Response(DeploymentObject(deployment).data)


class ConfigView(DeploymentView):
    @extend_schema(parameters=[ConfigQuery], responses=DeploymentConfigObject)
    def get(self, request: Request, **path: str) -> Response:
        """Return the config that the deployment was built from."""
        output_format = validated(ConfigQuery, request.query_params)["output_format"]
        deployment = self.deployment()
        raw = deployment.build.revision.text if deployment.build else None
        return Response(
            {
                "raw_config": raw if output_format in {"raw", "both"} else None,
                "config": deployment.spec if output_format in {"parsed", "both"} else None,
            }
        )


class LogsView(DeploymentView):
    @extend_schema(
        parameters=[DeploymentLogQuery],
        responses=DeploymentLogsObject,
    )
    def get(self, request: Request, **path: str) -> Response:
        """Return lines of the deployment's replicas, of one or of all."""
        query = validated(DeploymentLogQuery, request.query_params)
        replicas = replica_list(deployment=self.deployment())
        if "replica" in query:
            replicas = replicas.filter(id=query["replica"])
        lines = lines_of([replica.log_owner for replica in replicas], query)
        shown = [line_json(line) | {"replica": line.owner.split(":")[-1]} for line in lines]
        return Response({"logs": shown})


class ReplicasView(DeploymentView):
    @extend_schema(parameters=[ListQuery], responses=ReplicaListObject)
    def get(self, request: Request, **path: str) -> Response:
        """Return the deployment's replicas, newest first, ended ones included."""
        replicas = replica_list(deployment=self.deployment())
        page = page_of(replicas, by="-ordered_at", **validated(ListQuery, request.query_params))
        with_ejections(page.rows)
        return Response(page.to_json(ReplicaObject, under="replicas"))


class FailedStartsView(DeploymentView):
    @extend_schema(responses=FailedStartsListObject)
    def get(self, request: Request, **path: str) -> Response:
        """Return the nodes on which the deployment's artifact failed to start lately, by name."""
        failed_starts = failed_starts_of(deployment=self.deployment())
        return Response({"failed_starts": FailedStartsObject(failed_starts, many=True).data})
