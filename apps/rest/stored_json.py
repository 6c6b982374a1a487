"""JSON that is answered as it is stored, and told in the OpenAPI document by its shape."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers


def as_stored(shape: "serializers.BaseSerializer[Any]", help_text: str) -> serializers.JSONField:
    """Return a field that answers the stored value itself; `shape` is what the document says."""
    field = extend_schema_field(shape)(type("StoredJsonField", (serializers.JSONField,), {}))
    made: serializers.JSONField = field(read_only=True, help_text=help_text)
    return made
