"""Secrets with the hosted product's paths: set, list by name, delete; never read."""

from collections.abc import Sequence
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.models import Team
from apps.accounts.rest_views import TeamView
from apps.rest.paging import ListQuery, page_of
from apps.rest.serializers import validated
from apps.secrets.models import Secret
from apps.secrets.selectors import (
    secret_list,
    secret_named,
    secret_test_get,
    secret_test_list,
)
from apps.secrets.serializers import (
    SecretExpiryBody,
    SecretListObject,
    SecretObject,
    SecretSetBody,
    SecretTestBody,
    SecretTestListObject,
    SecretTestObject,
    SecretTombstone,
)
from apps.secrets.services.redaction import unreadable_secrets
from apps.secrets.services.trials import secret_test_request
from apps.secrets.services.values import secret_delete, secret_expire, secret_set
from apps.secrets.usage import uses_of


class SecretListView(TeamView):
    @extend_schema(parameters=[ListQuery], responses=SecretListObject)
    def get(self, request: Request, **path: str) -> Response:
        """Return the team's secrets by name, and what uses them."""
        query = validated(ListQuery, request.query_params)
        page = page_of(secret_list(team=self.team), by="name", **query)
        context = _context(self.team, page.rows)
        return Response(page.to_json(SecretObject, under="secrets", context=context))

    @extend_schema(request=SecretSetBody, responses=SecretObject)
    def post(self, request: Request, **path: str) -> Response:
        """Set a secret, made or replaced; builds that start from now on get the new value."""
        body = validated(SecretSetBody, request.data)
        secret = secret_set(team=self.team, user=self.user, **body)
        return Response(_shown(secret))


class SecretDetailView(TeamView):
    @extend_schema(responses={200: SecretTombstone})
    def delete(self, request: Request, name: str, **path: str) -> Response:
        """Delete a secret; what names it says so from now on."""
        return Response({"name": secret_delete(team=self.team, name=name)})

    @extend_schema(request=SecretExpiryBody, responses=SecretObject)
    def patch(self, request: Request, name: str, **path: str) -> Response:
        """Say when a secret ends, or that it does not; its value stays."""
        body = validated(SecretExpiryBody, request.data)
        secret = secret_named(team=self.team, name=name)
        secret = secret_expire(secret=secret, expires_at=body["expires_at"])
        return Response(_shown(secret))


class SecretTestStartView(TeamView):
    @extend_schema(request=SecretTestBody, responses={202: SecretTestObject})
    def post(self, request: Request, name: str, **path: str) -> Response:
        """Have a worker try the secret on a repository, bucket or address; ask for the answer."""
        body = validated(SecretTestBody, request.data)
        secret = secret_named(team=self.team, name=name)
        test = secret_test_request(secret=secret, target=body["target"], user=self.user)
        return Response(SecretTestObject(test).data, status=202)


class SecretTestListView(TeamView):
    @extend_schema(parameters=[ListQuery], responses=SecretTestListObject)
    def get(self, request: Request, name: str, **path: str) -> Response:
        """Return the last tests of a secret, newest first."""
        tests = secret_test_list(secret=secret_named(team=self.team, name=name))
        page = page_of(tests, **validated(ListQuery, request.query_params))
        return Response(page.to_json(SecretTestObject, under="tests"))


class SecretTestDetailView(TeamView):
    @extend_schema(responses=SecretTestObject)
    def get(self, request: Request, name: str, test_id: str, **path: str) -> Response:
        """Return one test: `works` is null until it is known."""
        secret = secret_named(team=self.team, name=name)
        return Response(SecretTestObject(secret_test_get(secret=secret, test_id=test_id)).data)


def _shown(secret: Secret) -> dict[str, Any]:
    return dict(SecretObject(secret, context=_context(secret.team, [secret])).data)


def _context(team: Team, secrets: Sequence[Secret]) -> dict[str, Any]:
    uses = uses_of(team, [secret.name for secret in secrets])
    return {"uses": uses, "unreadable": unreadable_secrets(secrets)}
