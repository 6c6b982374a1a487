"""Answers that belong to no app: the version, and paths that are not here."""

from typing import Any

from django.conf import settings
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.rest.errors import NotFound
from apps.rest.examples import shown_as
from controlplane.domain.runtimes import RUNTIMES
from controlplane.domain.runtimes.open_routes import open_routes
from controlplane.version import product_version


@shown_as({"name": "enginehouse", "version": "0.1.0"})
class Version(serializers.Serializer[Any]):
    """What is running here."""

    name = serializers.CharField(help_text="Always `enginehouse`.")
    version = serializers.CharField(help_text="The version of the product.")


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


@extend_schema(exclude=True)
class InferencePathView(UnknownPathView):
    """What a client asks of a model, at the wrong port; open to all, as it tells nothing of any."""

    authentication_classes = ()
    permission_classes = (AllowAny,)

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        raise NotFound(
            f"`{request.path}` is not here: this is the management API, and models are asked at "
            "the gateway.",
            hint=f"Use `{settings.GATEWAY_URL}/m/MODEL_ID/environments/production/sync/v1` as the "
            "base URL; `urls` in `GET /v1/models` has it for every model.",
        )


def inference_paths() -> list[str]:
    """Return the paths below /v1 that engines answer and this API does not, without /v1/."""
    routes = {path for runtime in RUNTIMES for path in open_routes(runtime).routes}
    below = {path.removeprefix("/v1/") for path in routes if path.startswith("/v1/")}
    return sorted(below - {"models"})
