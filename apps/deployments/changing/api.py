from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from apps.configs.api import text_of
from apps.configs.config_bodies import either_way
from apps.deployments.api import DeploymentView
from apps.deployments.changing.bodies import SettingsChangeBody, SettingsChangeObject
from apps.deployments.changing.change import SettingsChange, change_of
from apps.deployments.changing.services import deployment_change_settings
from apps.deployments.environments.restrictions import require_environment
from apps.deployments.models import Deployment
from apps.deployments.selectors import deployment_get
from apps.deployments.serializers import DeploymentObject
from apps.rest.serializers import validated


class ChangeSettingsView(DeploymentView):
    @extend_schema(
        request=either_way(SettingsChangeBody),
        responses={200: SettingsChangeObject, 201: SettingsChangeObject},
    )
    def post(self, request: Request, **path: str) -> Response:
        """Change the config of what is deployed: a revision of it, checked, that takes over by a
        roll.

        Built only where another artifact is asked for.
        """
        body = validated(SettingsChangeBody, request.data)
        change = change_of(
            deployment=self.changeable(),
            text=text_of(body),
            environment=body.get("environment"),
        )
        if change.environment:
            require_environment(self.actor, change.environment)
        if body["dry_run"]:
            return Response(change_json(change))
        made = deployment_change_settings(change=change, user=self.user)
        made = deployment_get(team=self.team, model_id=made.model_id, deployment_id=made.id)
        return Response(change_json(change, made), status=201)


def change_json(change: SettingsChange, made: Deployment | None = None) -> dict[str, Any]:
    return {
        "needs_build": change.needs_build,
        "reasons_to_build": list(change.reasons_to_build),
        "environment": change.environment,
        "later_revision": change.later_revision if made is None else None,
        "examination": change.checked,
        "differences": [part.to_json() for part in change.parts],
        "deployment": None if made is None else DeploymentObject(made).data,
    }
