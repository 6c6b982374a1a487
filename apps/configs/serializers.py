"""Configs, revisions and checks as JSON."""

from typing import Any

from rest_framework import serializers

from apps.configs.models import Config, Revision
from apps.rest.paging import page_schema
from apps.rest.serializers import ErrorSource, StrictSerializer


class FixObject(serializers.Serializer[Any]):
    label = serializers.CharField()  # type: ignore[assignment]
    patch = serializers.DictField(help_text="Dotted path to value; null removes.")
    safe = serializers.BooleanField(help_text="Whether the served output stays the same.")


class FindingObject(serializers.Serializer[Any]):
    code = serializers.CharField()
    name = serializers.CharField()
    severity = serializers.ChoiceField(choices=["error", "warning", "hint"])
    message = serializers.CharField()
    fields = serializers.ListField(child=serializers.CharField())  # type: ignore[assignment]
    line = serializers.IntegerField(allow_null=True)
    fix = FixObject(allow_null=True)
    source = ErrorSource(allow_null=True)  # type: ignore[assignment]


class WaitingObject(serializers.Serializer[Any]):
    code = serializers.CharField()
    name = serializers.CharField()
    facts = serializers.ListField(child=serializers.CharField())
    message = serializers.CharField()


class EffectiveObject(serializers.Serializer[Any]):
    field = serializers.CharField()
    asked = serializers.JSONField(allow_null=True)
    effective = serializers.JSONField(allow_null=True)
    reason = serializers.CharField()


class ExaminationObject(serializers.Serializer[Any]):
    """What the checks say of a config."""

    findings = FindingObject(many=True)
    waiting = WaitingObject(many=True)
    effective = EffectiveObject(many=True)
    plan = serializers.DictField(allow_null=True)
    blocks_build = serializers.BooleanField()


class ConfigObject(serializers.Serializer[Config]):
    """A config in a list; `revision` is the number of the last one."""

    id = serializers.CharField()
    name = serializers.CharField()
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()
    revision = serializers.IntegerField(source="last_number")
    blocks_build = serializers.BooleanField(source="last_blocks_build")


class RevisionObject(serializers.Serializer[Revision]):
    """A revision in a list: what was true when it was saved."""

    number = serializers.IntegerField()
    config_id = serializers.CharField()
    created_at = serializers.DateTimeField()
    created_by = serializers.EmailField(source="created_by.email", allow_null=True, default=None)
    blocks_build = serializers.BooleanField()


class RevisionDetailObject(RevisionObject):
    """A revision whole, with what the checks say of it now."""

    text = serializers.CharField()
    config = serializers.DictField(source="spec", help_text="The parsed file, defaults included.")
    examination = ExaminationObject()


class ConfigDetailObject(ConfigObject):
    last_revision = RevisionDetailObject()


ConfigPage = page_schema(ConfigObject)
RevisionPage = page_schema(RevisionObject)


class ConfigText(StrictSerializer):
    """A config: either `text` (YAML or JSON, kept as written) or `config` (an object)."""

    text = serializers.CharField(required=False, trim_whitespace=False, allow_blank=True)
    config = serializers.DictField(required=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if ("text" in attrs) == ("config" in attrs):
            raise serializers.ValidationError("Send either `text` or `config`.")
        return attrs


class ConfigCreateBody(ConfigText):
    name = serializers.CharField(max_length=128)


class RevisionCreateBody(ConfigText):
    expected_revision = serializers.IntegerField(
        min_value=0, help_text="The last revision you know of; another last one is a 409."
    )
