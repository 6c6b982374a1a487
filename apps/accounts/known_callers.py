"""Whether a request comes from someone we know, asked before its body is read."""

import io
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user
from django.core.handlers.asgi import ASGIRequest
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from apps.accounts.authentication import ApiKeyAuthentication


def is_known_caller(scope: Mapping[str, Any]) -> bool:
    """Return whether a live key or a signed-in session opens an ASGI request; rights come later."""
    request = ASGIRequest(dict(scope), io.BytesIO())
    try:
        if ApiKeyAuthentication().authenticate(Request(request)) is not None:
            return True
    except AuthenticationFailed:
        return False
    store = import_module(settings.SESSION_ENGINE).SessionStore
    request.session = store(request.COOKIES.get(settings.SESSION_COOKIE_NAME))
    return bool(get_user(request).is_authenticated)
