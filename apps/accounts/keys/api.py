"""API keys, with the hosted product's paths and objects."""

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.keys.serializers import (
    ApiKeyCreateBody,
    ApiKeyListObject,
    ApiKeyObject,
    ApiKeyTombstone,
    MadeApiKeyObject,
)
from apps.accounts.keys.services import LIMITS, KeyLimits, api_key_create, api_key_revoke
from apps.accounts.models import ApiKeyType
from apps.accounts.permissions import Action, require
from apps.accounts.rest_views import TeamView
from apps.accounts.selectors import api_key_list
from apps.rest.errors import InvalidInput, NotFound
from apps.rest.paging import ListQuery, page_of
from apps.rest.serializers import validated


class ApiKeyListView(TeamView):
    actions = {"POST": Action.READ}  # What is needed depends on the type; see post().

    @extend_schema(parameters=[ListQuery], responses=ApiKeyListObject)
    def get(self, request: Request, **path: str) -> Response:
        """Return the keys of the team, by prefix, newest first."""
        page = page_of(api_key_list(self.actor), **validated(ListQuery, request.query_params))
        return Response(page.to_json(ApiKeyObject, under="keys"))

    @extend_schema(request=ApiKeyCreateBody, responses=MadeApiKeyObject)
    def post(self, request: Request, **path: str) -> Response:
        """Make a key; the answer is the only place where the whole of it ever stands."""
        body = validated(ApiKeyCreateBody, request.data)
        type = ApiKeyType(body["type"])
        personal = type == ApiKeyType.PERSONAL
        require(self.actor, Action.OWN_KEYS if personal else Action.TEAM_KEYS)
        if personal and self.user is None:
            raise InvalidInput("A team's key cannot make a personal key.", fields=["type"])
        made = api_key_create(
            team=self.team,
            type=type,
            owner=self.user if personal else None,
            name=body.get("name") or "",
            model_ids=body.get("model_ids"),
            limits=KeyLimits(**{name: body.get(name) for name in LIMITS}),
        )
        return Response(MadeApiKeyObject({"api_key": made.text}).data)


class TeamApiKeyListView(ApiKeyListView):
    http_method_names = ["post"]


class ApiKeyDetailView(TeamView):
    actions = {"DELETE": Action.READ}

    @extend_schema(responses={200: ApiKeyTombstone})
    def delete(self, request: Request, prefix: str) -> Response:
        """Revoke a key; gateways refuse it within a second."""
        key = api_key_list(self.actor).filter(prefix=prefix).first()
        if key is None:
            raise NotFound(f"There is no API key `{prefix}`.")
        own = key.owner_id is not None and self.user is not None and key.owner_id == self.user.id
        require(self.actor, Action.OWN_KEYS if own else Action.TEAM_KEYS)
        api_key_revoke(api_key=key)
        return Response({"prefix": prefix})
