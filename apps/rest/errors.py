"""The one error body of the REST API: code, message, fields, hint, source."""

from typing import Any

from rest_framework.response import Response
from rest_framework.views import exception_handler as rest_exception_handler


def exception_handler(error: Exception, context: dict[str, Any]) -> Response | None:
    """Return the answer for an error raised in a REST view."""
    return rest_exception_handler(error, context)
