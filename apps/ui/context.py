"""What every page's frame needs."""

from django.http import HttpRequest


def shell(request: HttpRequest) -> dict[str, object]:
    """Return the values that `base.html` reads."""
    return {"gateway_path": request.path}
