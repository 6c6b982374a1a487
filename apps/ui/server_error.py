import sys

from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string

from controlplane.full_database import FULL_DATABASE


def server_error(request: HttpRequest) -> HttpResponse:
    """Return 503 where the database had no answer, else 500; neither asks it for anything."""
    error = sys.exc_info()[1]
    if not isinstance(error, OperationalError | InterfaceError):
        return HttpResponse(render_to_string("500.html"), status=500)
    is_full = FULL_DATABASE.is_cause_of(error)
    again = request.get_full_path() if request.method == "GET" else ""
    page = render_to_string("503.html", {"is_full": is_full, "again": again})
    answer = HttpResponse(page, status=503)
    answer["Retry-After"] = "2"
    return answer
