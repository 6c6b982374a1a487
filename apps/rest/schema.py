"""The OpenAPI document: what the framework cannot tell by itself."""

from collections.abc import Mapping, Sequence
from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import (
    Direction,
    OpenApiParameter,
    OpenApiResponse,
    PolymorphicProxySerializer,
)

from apps.rest.common_fields import COMMON_FIELDS, PATH_PARAMETERS
from apps.rest.error_examples import ERRORS
from apps.rest.examples import NAME, example_of
from apps.rest.serializers import Error

_ALWAYS = {
    401: "No key, or one that is unknown, expired or revoked.",
    403: "The key or the person may not do this.",
    405: "The address takes other methods; `Allow` names them.",
    406: "`Accept` names nothing that this address answers in.",
    429: "Too many requests in this minute; `Retry-After` says when to come back.",
    500: "Something broke on our side.",
    503: "Something that this needs, such as the database, does not answer right now; "
    "`Retry-After` says when to ask again.",
}
_WITH_BODY = {
    400: "The request says something that cannot be done as it stands.",
    413: "The body is too large.",
    415: "The body is not JSON.",
}
_OF_WRITES = {
    409: "The thing is in another state, or the `Idempotency-Key` was used before.",
    412: "It has changed since the `ETag` in `If-Match`.",
}
_WITH_PATH = {404: "There is no such thing, or it belongs to someone else."}
_WITH_QUERY = {400: "A query parameter is unknown or wrong."}
_GUARD = {"If-Match": "An `ETag` of this address: change it only if it is still that."}
_HEADERS: Mapping[str, Mapping[str, str]] = {
    "GET": {"If-None-Match": "An `ETag` of this address: answer 304 if it is still that."},
    "POST": _GUARD | {"Idempotency-Key": "Sent twice with one key, this is carried out once."},
    "PUT": _GUARD,
    "PATCH": _GUARD,
    "DELETE": _GUARD,
}


class RestSchema(AutoSchema):
    """Every operation answers its errors in the one body."""

    def get_operation_id(self) -> str:
        """Return a name that no other operation has: the path's words, then the method."""
        words = [part.strip("{}") for part in self.path.split("/")[2:] if part]
        return "_".join([*words, self.method.lower()])

    def get_override_parameters(self) -> list[Any]:
        return [
            OpenApiParameter(name, str, OpenApiParameter.HEADER, description=words)
            for name, words in _HEADERS[self.method].items()
        ]

    def _get_serializer_field_meta(self, field: Any, direction: Direction) -> dict[str, Any]:
        meta: dict[str, Any] = super()._get_serializer_field_meta(  # type: ignore[no-untyped-call]
            field, direction
        )
        words = COMMON_FIELDS.get(getattr(field, "field_name", None) or "")
        return {"description": words, **meta} if words else meta

    def _resolve_path_parameters(self, variables: Any) -> list[dict[str, Any]]:
        parameters: list[dict[str, Any]] = super()._resolve_path_parameters(  # type: ignore[no-untyped-call]
            variables
        )
        return [
            {**each, "description": PATH_PARAMETERS.get(each["name"], "")} for each in parameters
        ]

    def _get_request_body(self, direction: Direction = "request") -> dict[str, Any] | None:
        body: dict[str, Any] | None = super()._get_request_body(direction)  # type: ignore[no-untyped-call]
        # Without a body the framework would warn that it finds no serializer.
        if body is None or not self._takes_one_of_several():
            return body
        return {**body, "required": True}

    def _takes_one_of_several(self) -> bool:
        serializer = self.get_request_serializer()
        return isinstance(serializer, PolymorphicProxySerializer)

    def _get_response_bodies(self, direction: Direction = "response") -> dict[str, Any]:
        answers: dict[str, Any] = super()._get_response_bodies(direction)
        errors = dict(_ALWAYS)
        if self.method in {"POST", "PUT", "PATCH"}:
            errors |= _WITH_BODY
        if self.method != "GET":
            errors |= _OF_WRITES
        if "{" in self.path or self.method == "POST":
            errors |= _WITH_PATH
        if self.method == "GET":
            errors |= _WITH_QUERY
            answers["304"] = {"description": "You have it already: see `If-None-Match`."}
        for status, words in sorted(errors.items()):
            if str(status) not in answers:
                error = OpenApiResponse(Error, description=words)
                answers[str(status)] = self._get_response_for_code(  # type: ignore[no-untyped-call]
                    error, str(status)
                )
        return answers

    def _get_examples(
        self,
        serializer: Any,
        direction: Direction,
        media_type: str,
        status_code: str | None = None,
        extras: Any = None,
    ) -> dict[str, Any]:
        given: dict[str, Any] = super()._get_examples(  # type: ignore[no-untyped-call]
            serializer, direction, media_type, status_code, extras
        )
        is_error = serializer is Error or isinstance(serializer, Error)
        value = ERRORS.get(status_code or "") if is_error else example_of(serializer)
        return given or ({} if value is None else {NAME: {"value": value}})


class ApiKeyScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """Both spellings of the header."""

    target_class = "apps.accounts.authentication.ApiKeyAuthentication"
    name = ["bearer", "apiKey"]

    def get_security_requirement(self, auto_schema: AutoSchema) -> list[dict[str, list[Any]]]:
        # Names in one requirement are needed together; these are alternatives.
        return [{name: []} for name in self.name]

    def get_security_definition(self, auto_schema: AutoSchema) -> list[dict[str, Any]]:
        return [
            {"type": "http", "scheme": "bearer", "description": "`Authorization: Bearer KEY`"},
            {
                "type": "apiKey",
                "in": "header",
                "name": "Authorization",
                "description": "`Authorization: Api-Key KEY`",
            },
        ]


def only_public(endpoints: Sequence[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Return the endpoints under /v1: agents and gateways are not for people's programs."""
    return [endpoint for endpoint in endpoints if endpoint[0].startswith("/v1/")]
