"""Who is calling the REST API: the holder of an API key."""

from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from apps.accounts.keys.services import api_key_touch
from apps.accounts.models import ApiKey
from apps.accounts.permissions import Actor
from apps.accounts.selectors import api_key_by_text

_SCHEMES = {"bearer", "api-key"}


class ApiKeyAuthentication(BaseAuthentication):
    """Accepts `Authorization: Bearer KEY` and `Authorization: Api-Key KEY`."""

    def authenticate(self, request: Request) -> tuple[Actor, ApiKey] | None:
        """Return the actor and its key, or None without such a header.

        Raises AuthenticationFailed in the same words for every key that does not work.
        """
        scheme, _, text = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() not in _SCHEMES:
            return None
        key = api_key_by_text(text.strip())
        if key is None:
            raise AuthenticationFailed("This API key is unknown, expired or revoked.")
        api_key_touch(key)
        return Actor(team=key.team, user=key.owner, api_key=key), key

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"
