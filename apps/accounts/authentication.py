"""Who is calling the REST API: the holder of an API key."""

from rest_framework.authentication import BaseAuthentication


class ApiKeyAuthentication(BaseAuthentication):
    """Accepts `Authorization: Bearer KEY` and `Authorization: Api-Key KEY`."""
