"""Answers that belong to no app: the version, and paths that do not exist."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.rest.errors import NotFound
from apps.rest.examples import shown_as
from controlplane.version import product_version


@shown_as({"name": "enginehouse", "version": "0.1.0"})
class Version(serializers.Serializer[Any]):
    """What is running here."""

    name = serializers.CharField()
    version = serializers.CharField()


class VersionView(APIView):
    """Open to all: a client asks it before it has a key."""

    authentication_classes = ()
    permission_classes = (AllowAny,)

    @extend_schema(responses=Version)
    def get(self, request: Request) -> Response:
        """Return the product's name and version."""
        return Response({"name": "enginehouse", "version": product_version()})


@extend_schema(exclude=True)
class UnknownPathView(APIView):
    """Any other path, for any method."""

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        raise NotFound(
            f"There is no `{request.path}`.", hint="`GET /v1/spec` lists every path of this API."
        )

    def get(self, request: Request, rest: str = "") -> Response:
        raise AssertionError("initial() has answered")

    post = put = patch = delete = get
