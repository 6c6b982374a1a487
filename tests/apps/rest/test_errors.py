"""Whatever goes wrong, the answer has one shape and says nothing of our insides."""

import logging
from collections.abc import Callable
from typing import Any

import pytest
from django.core.exceptions import PermissionDenied, RequestDataTooBig
from django.http import Http404
from rest_framework import exceptions, serializers
from rest_framework.parsers import JSONParser
from rest_framework.response import Response
from rest_framework.test import APIRequestFactory
from rest_framework.views import APIView

from apps.rest.errors import ApiError, Conflict, InvalidInput, NotFound, Unavailable
from apps.rest.parsers import BoundedJSONParser
from apps.rest.serializers import StrictSerializer, validated

KEYS = {"code", "message", "fields", "hint", "source"}


class Inner(StrictSerializer):
    size = serializers.IntegerField(min_value=1)


class Outer(StrictSerializer):
    name = serializers.CharField(max_length=5)
    inner = Inner(required=False)
    many = Inner(many=True, required=False)


def answer_to(error: Exception) -> Any:
    class Failing(APIView):
        authentication_classes = ()
        permission_classes = ()

        def get(self, request: object) -> None:
            raise error

    return Failing.as_view()(APIRequestFactory().get("/"))


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (InvalidInput("no"), 400, "invalid_input"),
        (Conflict("no", code="stale_revision"), 409, "stale_revision"),
        (NotFound("no"), 404, "not_found"),
        (Unavailable("no"), 503, "unavailable"),
        (Http404(), 404, "not_found"),
        (PermissionDenied(), 403, "not_allowed"),
        (RequestDataTooBig(), 413, "too_large"),
        (exceptions.NotAuthenticated(), 403, "unauthenticated"),
        (exceptions.MethodNotAllowed("GET"), 405, "method_not_allowed"),
        (exceptions.UnsupportedMediaType("text/plain"), 415, "unsupported_media_type"),
        (exceptions.Throttled(wait=3), 429, "too_many_requests"),
        (exceptions.ParseError("odd"), 400, "malformed_body"),
        (exceptions.NotAcceptable(), 406, "not_acceptable"),
        (RuntimeError("the password is hunter2"), 500, "internal_error"),
    ],
)
def test_every_error_answers_in_the_one_body(error: Exception, status: int, code: str) -> None:
    response = answer_to(error)
    assert (response.status_code, response.data["code"]) == (status, code)
    assert set(response.data) == KEYS
    assert response.data["message"]
    assert "hunter2" not in str(response.data)


def test_an_unknown_failure_is_logged_under_the_id_that_the_caller_sees(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.ERROR):
        response = answer_to(RuntimeError("a bug"))
    request_id = response.headers["X-Request-Id"]
    assert request_id in response.data["hint"]
    (record,) = caplog.records
    assert request_id in record.getMessage()
    assert record.exc_info


def test_waiting_time_is_said_in_the_header() -> None:
    assert answer_to(exceptions.Throttled(wait=2.5)).headers["Retry-After"] == "3"


def test_all_field_errors_come_at_once_with_their_paths() -> None:
    with pytest.raises(exceptions.ValidationError) as caught:
        validated(Outer, {"inner": {"size": 0}, "many": [{"size": 1}, {}]})
    body = answer_to(caught.value).data
    assert body["fields"] == ["name", "inner.size", "many[1].size"]
    assert "`name` is required." in body["message"]
    assert "`many[1].size` is required." in body["message"]


def test_an_unknown_field_gets_a_suggestion() -> None:
    with pytest.raises(exceptions.ValidationError) as caught:
        validated(Outer, {"nam": "a", "name": "b", "inner": {"syze": 1, "size": 1}})
    body = answer_to(caught.value).data
    assert (body["code"], body["fields"]) == ("unknown_field", ["nam", "inner.syze"])
    assert "did you mean `name`?" in body["message"]
    assert "did you mean `size`?" in body["message"]


def test_a_wrong_field_is_named_beside_an_unknown_one() -> None:
    with pytest.raises(exceptions.ValidationError) as caught:
        validated(Outer, {"nam": "a", "inner": {"size": 0}})
    body = answer_to(caught.value).data
    assert (body["code"], body["fields"]) == ("unknown_field", ["nam", "name", "inner.size"])
    assert "`name` is required." in body["message"]


def test_details_appear_only_where_there_are_some() -> None:
    assert ApiError("no", details={"last": 3}).to_json()["details"] == {"last": 3}
    assert "details" not in ApiError("no").to_json()


@pytest.fixture
def parsed() -> Callable[[bytes], Any]:
    class Echo(APIView):
        authentication_classes = ()
        permission_classes = ()
        parser_classes = (BoundedJSONParser,)

        def post(self, request: Any) -> Any:
            return Response({"got": request.data})

    def send(body: bytes) -> Any:
        request = APIRequestFactory().generic("POST", "/", body, content_type="application/json")
        return Echo.as_view()(request)

    return send


@pytest.mark.parametrize(
    "body",
    [b"{", b'{"a": NaN}', b"\xff", b"[" * 100_000, b'{"a": Infinity}', b""],
    ids=["cut", "nan", "not-utf-8", "deep", "infinity", "empty"],
)
def test_a_body_that_is_not_json_is_malformed(parsed: Any, body: bytes) -> None:
    response = parsed(body)
    if body:
        assert (response.status_code, response.data["code"]) == (400, "malformed_body")
    else:
        assert response.status_code == 200


def test_a_body_past_the_limit_is_refused(parsed: Any, settings: Any) -> None:
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 100
    assert parsed(b'"' + b"a" * 97 + b'"').status_code == 200
    response = parsed(b'"' + b"a" * 99 + b'"')
    assert (response.status_code, response.data["code"]) == (413, "too_large")


def test_the_parser_is_the_default_one(settings: Any) -> None:
    assert issubclass(BoundedJSONParser, JSONParser)
    assert settings.REST_FRAMEWORK["DEFAULT_PARSER_CLASSES"] == [
        f"{BoundedJSONParser.__module__}.{BoundedJSONParser.__name__}"
    ]
