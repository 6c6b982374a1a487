"""The page for what broke on our side, or is too busy."""

import sys

from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string


def server_error(request: HttpRequest) -> HttpResponse:
    """Return 503 where the database had no answer, else 500; neither asks it for anything."""
    if not isinstance(sys.exc_info()[1], OperationalError | InterfaceError):
        return HttpResponse(render_to_string("500.html"), status=500)
    answer = HttpResponse(render_to_string("503.html"), status=503)
    answer["Retry-After"] = "2"
    return answer
