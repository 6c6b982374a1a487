"""Requests that hold a config: as text or as an object, and never as both."""

from typing import Any

from drf_spectacular.drainage import get_override, set_override
from drf_spectacular.utils import PolymorphicProxySerializer, extend_schema_field
from rest_framework import serializers

from apps.configs import examples
from apps.configs.config_components import CONFIG_FILE
from apps.rest.examples import shown_as
from apps.rest.serializers import StrictSerializer


@extend_schema_field(CONFIG_FILE)
class ConfigFileField(serializers.DictField):
    """A whole config; what is wrong with it is for the checks to say."""


def _text(**options: Any) -> serializers.CharField:
    return serializers.CharField(
        trim_whitespace=False,
        allow_blank=True,
        help_text="The file as YAML or JSON, kept as it is written.",
        **options,
    )


def _config(**options: Any) -> ConfigFileField:
    return ConfigFileField(
        help_text="The file as an object; it is kept as YAML in this order.", **options
    )


@shown_as(examples.CONFIG_TEXT)
class ConfigBody(StrictSerializer):
    """A config: either `text` or `config`."""

    text = _text(required=False)
    config = _config(required=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if ("text" in attrs) == ("config" in attrs):
            raise serializers.ValidationError("Send either `text` or `config`.")
        return attrs


@shown_as(examples.CONFIG_WANTED)
class ConfigCreateBody(ConfigBody):
    name = serializers.CharField(max_length=128, help_text="What to call it.")


@shown_as(examples.REVISION_WANTED)
class RevisionCreateBody(ConfigBody):
    expected_revision = serializers.IntegerField(
        min_value=0, help_text="The last revision you know of; another last one is a 409."
    )


def either_way(body: type[ConfigBody]) -> PolymorphicProxySerializer:
    """Return the body for the OpenAPI document: one shape with the text, one with the object."""
    name = body.__name__.removesuffix("Body")
    made = PolymorphicProxySerializer(
        component_name=body.__name__,
        serializers=[
            type(f"{name}AsText", (body,), {"text": _text(), "config": None}),
            type(f"{name}AsObject", (body,), {"text": None, "config": _config()}),
        ],
        resource_type_field_name=None,
    )
    set_override(made, "examples", get_override(body, "examples", []))
    return made
