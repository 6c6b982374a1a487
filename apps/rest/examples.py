"""What bodies look like, in the OpenAPI document: kept near the serializers."""

from collections.abc import Callable
from typing import Any, TypeVar

from drf_spectacular.drainage import get_override
from drf_spectacular.plumbing import force_instance
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiExample, OpenApiResponse, extend_schema_serializer
from rest_framework import serializers

Shape = TypeVar("Shape", bound=type[serializers.BaseSerializer[Any]])
NAME = "Example"


def shown_as(value: Any) -> Callable[[Shape], Shape]:
    return extend_schema_serializer(
        examples=[OpenApiExample(NAME, value=value, status_codes=["200", "201", "202"])]
    )


def file_shown_as(kind: OpenApiTypes, value: Any) -> OpenApiResponse:
    return OpenApiResponse(kind, examples=[OpenApiExample(NAME, value=value)])


def example_of(serializer: Any) -> Any:
    """Return the example of a serializer, put together from those within; None without one."""
    serializer = force_instance(serializer)  # type: ignore[no-untyped-call]
    if isinstance(serializer, serializers.ListSerializer):
        one = example_of(serializer.child)
        return None if one is None else [one]
    if not isinstance(serializer, serializers.BaseSerializer):
        return None
    if given := get_override(serializer, "examples", []):
        return given[0].value
    parts = {name: example_of(field) for name, field in getattr(serializer, "fields", {}).items()}
    return None if not parts or None in parts.values() else parts
