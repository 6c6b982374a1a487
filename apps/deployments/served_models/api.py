from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.rest_views import TeamView
from apps.deployments.bodies import ModelCreateBody, NameQuery
from apps.deployments.environments.restrictions import require_first_place, require_model
from apps.deployments.selectors import build_get, deployment_get, model_get, model_list
from apps.deployments.serializers import (
    DeploymentObject,
    ModelCreatedObject,
    ModelListObject,
    ModelObject,
    ModelTombstone,
)
from apps.deployments.served_models.services import model_create, model_delete
from apps.rest.paging import page_of
from apps.rest.serializers import validated


class ModelListView(TeamView):
    @extend_schema(parameters=[NameQuery], responses=ModelListObject)
    def get(self, request: Request, **path: str) -> Response:
        """Return the team's models, newest first."""
        query = validated(NameQuery, request.query_params)
        models = model_list(team=self.team, name=query.pop("name", None))
        return Response(page_of(models, **query).to_json(ModelObject, under="models"))

    @extend_schema(request=ModelCreateBody, responses={201: ModelCreatedObject})
    def post(self, request: Request, **path: str) -> Response:
        """Make a model from a build; its first deployment becomes production once it is ready."""
        fields = validated(ModelCreateBody, request.data)
        build = build_get(team=self.team, build_id=fields["source"]["build_id"])
        require_first_place(self.actor, None, None)
        model, deployment = model_create(
            team=self.team, name=fields["name"], build=build, user=self.user
        )
        made = deployment_get(team=self.team, model_id=model.id, deployment_id=deployment.id)
        body = {
            "model": ModelObject(model_get(team=self.team, model_id=model.id)).data,
            "deployment": DeploymentObject(made).data,
        }
        return Response(body, status=201)


class ModelDetailView(TeamView):
    @extend_schema(responses=ModelObject)
    def get(self, request: Request, model_id: str) -> Response:
        """Return a model."""
        return Response(ModelObject(model_get(team=self.team, model_id=model_id)).data)

    @extend_schema(responses={200: ModelTombstone})
    def delete(self, request: Request, model_id: str) -> Response:
        """Delete a model with its deployments; 409 while one of them runs."""
        model_delete(model=require_model(self.actor, model_get(team=self.team, model_id=model_id)))
        return Response({"id": model_id, "deleted": True})
