"""The OpenAPI document says enough for a program that knows nothing else."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client

from apps.rest.api import inference_paths
from apps.rest.specification import document

CLOSED_SETS = {"state", "status", "severity", "blame", "verdict", "binding"}
"""Names of fields whose values a program must be able to list."""
FREE_BY_NATURE = {
    "dataset": "its own name, or its location with columns",
    "details": "the user's own values, by the kind of error",
    "fix": "settings by their path",
    "inputs": "what a digest is made of, by runtime and step",
    "labels": "of the hosted product's deployments, null here",
    "passport": "a document of its own, with a format number",
    "patch": "settings by their path",
    "result": "what a step measured, by step",
}
"""Fields that hold objects of no one shape, and why."""
OF_ONE_SHAPE = {"failure": "FailureObject", "plan": "PlanObject", "urls": "UrlsObject"}


def properties() -> Iterator[tuple[str, Any]]:
    for component, schema in document()["components"]["schemas"].items():
        for name, node in schema.get("properties", {}).items():
            yield f"{component}.{name}", node


def operations() -> Iterator[tuple[str, Any]]:
    for path, methods in document()["paths"].items():
        for method, operation in methods.items():
            yield f"{method} {path}", operation


def target(node: Any) -> str | None:
    """Return the component that a field points to."""
    (first, *_) = node.get("allOf", [node])
    return first["$ref"].rpartition("/")[2] if "$ref" in first else None


def test_every_property_has_a_description() -> None:
    assert [place for place, node in properties() if not node.get("description")] == []


def test_every_parameter_has_a_description() -> None:
    without = [
        f"{place} {each['name']}"
        for place, operation in operations()
        for each in operation.get("parameters", ())
        if not each.get("description")
    ]
    assert without == []


def test_states_statuses_and_their_like_are_closed_sets() -> None:
    components = document()["components"]["schemas"]
    asked = {place: node for place, node in properties() if place.split(".")[1] in CLOSED_SETS}
    assert len(asked) >= 20
    open_ones = [
        place
        for place, node in asked.items()
        if "enum" not in node and "enum" not in components.get(target(node) or "", {})
    ]
    assert open_ones == []


def test_objects_are_typed_but_for_those_that_have_no_one_shape() -> None:
    free = {
        place.split(".")[1]
        for place, node in properties()
        if (inner := node.get("items", node)).get("type") == "object"
        and inner.get("additionalProperties") == {}
    }
    assert free == FREE_BY_NATURE.keys()


@pytest.mark.parametrize(("name", "component"), OF_ONE_SHAPE.items())
def test_failures_plans_and_urls_are_objects_of_one_shape(name: str, component: str) -> None:
    found = {place: target(node) for place, node in properties() if place.endswith(f".{name}")}
    assert found
    assert set(found.values()) == {component}


@pytest.mark.parametrize("component", ["ModelObject", "DeploymentObject", "EnvironmentObject"])
def test_what_can_be_asked_says_where(component: str) -> None:
    assert "urls" in document()["components"]["schemas"][component]["properties"]


def test_every_operation_says_which_methods_types_and_absences_it_answers() -> None:
    without = [
        (place, status)
        for place, operation in operations()
        for status in ("405", "406", "503")
        if status not in operation["responses"]
    ]
    assert without == []


@pytest.mark.parametrize("name", ["Config", "ConfigCreate", "RevisionCreate"])
def test_a_config_is_sent_as_text_or_as_an_object(name: str) -> None:
    components = document()["components"]["schemas"]
    ways = [each["$ref"].rpartition("/")[2] for each in components[f"{name}Body"]["oneOf"]]
    text, value = (components[way] for way in ways)
    assert "text" in text["required"]
    assert "config" not in text["properties"]
    assert "config" in value["required"]
    assert target(value["properties"]["config"]) == "ConfigFile"


def test_the_config_is_typed_down_to_its_last_block() -> None:
    components = document()["components"]["schemas"]
    untyped = [
        f"{name}.{field}"
        for name, schema in components.items()
        if name.startswith("Config")
        for field, node in schema.get("properties", {}).items()
        if node.get("type") == "object" and "additionalProperties" not in node
    ]
    assert untyped == []
    build = components["ConfigEngineBuild"]["properties"]
    assert build["max_batch_size"] | {"description": ""} == {
        "type": "integer",
        "minimum": 1,
        "maximum": 2048,
        "default": 256,
        "description": "",
    }
    assert target(build["quantization_type"]) == "ConfigQuantizationType"


@pytest.mark.parametrize("path", ["chat/completions", "embeddings"])
def test_the_web_port_says_where_models_are_asked(path: str, settings: Any) -> None:
    settings.GATEWAY_URL = "https://models.example"
    answer = Client().post(f"/v1/{path}", {"model": "x"}, content_type="application/json")
    assert answer.status_code == 404
    assert f"/v1/{path}" in answer.json()["message"]
    assert "https://models.example/m/MODEL_ID/environments/production" in answer.json()["hint"]


def test_no_path_of_this_api_is_taken_for_one_of_an_engine() -> None:
    ours = {path.removeprefix("/v1/") for path in document()["paths"]}
    assert not ours & set(inference_paths())
    assert {"chat/completions", "completions", "embeddings", "responses"} <= set(inference_paths())
