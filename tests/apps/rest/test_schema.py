"""The OpenAPI document is complete, valid, and says how each call fails."""

from typing import Any

import pytest
from django.test import Client
from drf_spectacular.drainage import GENERATOR_STATS
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.validation import validate_schema

from tests.factories import make_cast


@pytest.fixture(scope="module")
def document() -> Any:
    GENERATOR_STATS.reset()
    return SchemaGenerator().get_schema(request=None, public=True)


def operations(document: Any) -> list[tuple[str, str, Any]]:
    return [
        (path, method, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]


@pytest.mark.wide
def test_it_is_valid_without_a_warning(document: Any) -> None:
    validate_schema(document)
    assert not GENERATOR_STATS._warn_cache
    assert not GENERATOR_STATS._error_cache


def test_it_holds_what_people_may_call_and_nothing_else(document: Any) -> None:
    assert all(path.startswith("/v1/") for path in document["paths"])
    assert {"/v1/api_keys", "/v1/secrets", "/v1/teams", "/v1/users/me"} <= set(document["paths"])


def test_every_operation_documents_its_error_body(document: Any) -> None:
    for path, method, operation in operations(document):
        if path == "/v1/version":
            continue
        failures = {status for status in operation["responses"] if status >= "400"}
        assert {"401", "403", "405", "406", "500", "503"} <= failures, (path, method)
        if "{" in path:
            assert "404" in failures, (path, method)
        if method in {"post", "patch", "put"}:
            assert {"400", "413", "415"} <= failures, (path, method)
        for status in failures:
            content = operation["responses"][status]["content"]["application/json"]
            assert content["schema"] == {"$ref": "#/components/schemas/Error"}, (path, method)


def test_operations_have_distinct_names_and_a_sentence(document: Any) -> None:
    every = operations(document)
    assert len({operation["operationId"] for _, _, operation in every}) == len(every)
    assert [(p, m) for p, m, operation in every if not operation.get("description")] == []


def test_both_spellings_of_the_header_are_declared(document: Any) -> None:
    schemes = document["components"]["securitySchemes"]
    assert schemes["bearer"]["scheme"] == "bearer"
    assert schemes["apiKey"]["name"] == "Authorization"


def test_one_way_of_signing_in_is_enough(document: Any) -> None:
    for path, method, operation in operations(document):
        if path != "/v1/version":
            ways = [{"bearer": []}, {"apiKey": []}, {"cookieAuth": []}]
            assert operation["security"] == ways, (path, method)


def test_it_says_where_it_is_served(document: Any, settings: Any) -> None:
    assert document["servers"] == [{"url": settings.PUBLIC_URL}]


@pytest.mark.django_db
@pytest.mark.parametrize("path", ["/v1", "/v1/", "/v1/nothing", "/v1/artifacts/%0A", "/v1/%0A%0A/"])
def test_a_path_that_is_not_there_is_said_in_json(path: str) -> None:
    client = Client()
    client.force_login(make_cast().owner)
    answer = client.get(path)
    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")


@pytest.mark.django_db
def test_anyone_may_read_it_and_the_version() -> None:
    answer = Client().get("/v1/spec")
    assert answer.status_code == 200
    assert answer.json()["openapi"].startswith("3.")
    assert Client().get("/v1/version").json()["name"] == "enginehouse"
