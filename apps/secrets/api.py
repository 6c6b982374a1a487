"""Secrets with the hosted product's paths: set, list by name, delete; never read."""

from collections.abc import Sequence
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.rest_views import TeamView
from apps.rest.serializers import validated
from apps.secrets.models import Secret
from apps.secrets.selectors import secret_list
from apps.secrets.serializers import (
    SecretListObject,
    SecretObject,
    SecretSetBody,
    SecretTombstone,
)
from apps.secrets.services import secret_delete, secret_set
from apps.secrets.usage import uses_of


class SecretListView(TeamView):
    @extend_schema(responses=SecretListObject)
    def get(self, request: Request, **path: str) -> Response:
        """Return the team's secrets by name, and what uses them."""
        return Response({"secrets": self._shown(list(secret_list(team=self.team)))})

    @extend_schema(request=SecretSetBody, responses=SecretObject)
    def post(self, request: Request, **path: str) -> Response:
        """Set a secret, made or replaced; builds that start from now on get the new value."""
        wanted = validated(SecretSetBody, request.data)
        secret = secret_set(
            team=self.team, name=wanted["name"], value=wanted["value"], user=self.user
        )
        return Response(self._shown([secret])[0])

    def _shown(self, secrets: Sequence[Secret]) -> list[dict[str, Any]]:
        uses = uses_of(self.team, [secret.name for secret in secrets])
        return list(SecretObject(secrets, many=True, context={"uses": uses}).data)


class SecretDetailView(TeamView):
    @extend_schema(responses=SecretTombstone)
    def delete(self, request: Request, name: str, **path: str) -> Response:
        """Delete a secret; what names it says so from now on."""
        return Response({"name": secret_delete(team=self.team, name=name)})
