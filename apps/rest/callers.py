"""Who a request counts for: its API key, or the person of its session."""

from typing import Any

from rest_framework.request import Request


def caller_of(request: Request) -> str:
    """Return a name of the caller that no other has; empty for nobody."""
    who: Any = request.auth if request.auth is not None else request.user
    return f"{type(who).__name__.lower()}:{who.pk}" if hasattr(who, "pk") else ""
