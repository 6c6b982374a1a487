"""The OpenAPI document, made once: it takes a second, and no request changes it."""

from functools import cache
from typing import Any

from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.views import SpectacularJSONAPIView
from rest_framework.request import Request
from rest_framework.response import Response


@cache
def document() -> dict[str, Any]:
    generator = SchemaGenerator()  # type: ignore[no-untyped-call]
    made: dict[str, Any] = generator.get_schema(  # type: ignore[no-untyped-call]
        request=None, public=True
    )
    return made


class SpecificationView(SpectacularJSONAPIView):
    """Open to all: it holds nothing of anybody."""

    def _get_schema_response(self, request: Request) -> Response:
        return Response(document())
