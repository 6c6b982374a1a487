"""Configs, revisions and checks as JSON."""

from typing import Any

from rest_framework import serializers

from apps.configs import examples
from apps.configs.models import Config, Revision
from apps.rest.examples import shown_as
from apps.rest.paging import page_schema
from apps.rest.serializers import ErrorSource, StrictSerializer
from controlplane.domain.commands.invocation import MAX_COMMAND_BYTES, Server
from controlplane.domain.runtimes.exporting import ExportFormat


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
    column = serializers.IntegerField(allow_null=True, default=None)
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


@shown_as(examples.EXAMINATION)
class ExaminationObject(serializers.Serializer[Any]):
    """What the checks say of a config."""

    findings = FindingObject(many=True)
    waiting = WaitingObject(many=True)
    effective = EffectiveObject(many=True)
    runtime = serializers.CharField(
        allow_blank=True, help_text="What serves it, chosen where it says `auto`."
    )
    untested = serializers.ListField(
        child=serializers.CharField(),
        help_text="What it asks of that runtime and was not seen to run by us on such a GPU.",
    )
    plan = serializers.DictField(allow_null=True)
    blocks_build = serializers.BooleanField()


@shown_as(examples.CONFIG)
class ConfigObject(serializers.Serializer[Config]):
    """A config in a list; `revision` is the number of the last one."""

    id = serializers.CharField()
    name = serializers.CharField()
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()
    revision = serializers.IntegerField(source="last_number")
    blocks_build = serializers.BooleanField(source="last_blocks_build")


@shown_as(examples.REVISION)
class RevisionObject(serializers.Serializer[Revision]):
    """A revision in a list: what was true when it was saved."""

    number = serializers.IntegerField()
    config_id = serializers.CharField()
    created_at = serializers.DateTimeField()
    created_by = serializers.EmailField(source="created_by.email", allow_null=True, default=None)
    blocks_build = serializers.BooleanField()


@shown_as(examples.REVISION_WHOLE)
class RevisionDetailObject(RevisionObject):
    """A revision whole, with what the checks say of it now."""

    text = serializers.CharField()
    config = serializers.DictField(source="spec", help_text="The parsed file, defaults included.")
    examination = ExaminationObject()


@shown_as(examples.CONFIG_WHOLE)
class ConfigDetailObject(ConfigObject):
    last_revision = RevisionDetailObject()


ConfigPage = page_schema(ConfigObject)
RevisionPage = page_schema(RevisionObject)


@shown_as(examples.CONFIG_TEXT)
class ConfigText(StrictSerializer):
    """A config: either `text` (YAML or JSON, kept as written) or `config` (an object)."""

    text = serializers.CharField(required=False, trim_whitespace=False, allow_blank=True)
    config = serializers.DictField(required=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if ("text" in attrs) == ("config" in attrs):
            raise serializers.ValidationError("Send either `text` or `config`.")
        return attrs


@shown_as(examples.CONFIG_WANTED)
class ConfigCreateBody(ConfigText):
    name = serializers.CharField(max_length=128)


@shown_as({"name": "llama-3.3-70b-fp8"})
class ConfigRenameBody(StrictSerializer):
    name = serializers.CharField(max_length=128)


@shown_as(examples.REVISION_WANTED)
class RevisionCreateBody(ConfigText):
    expected_revision = serializers.IntegerField(
        min_value=0, help_text="The last revision you know of; another last one is a 409."
    )


@shown_as(examples.COMMAND)
class CommandBody(StrictSerializer):
    """A pasted command; it is read and never run, and nothing of it is kept."""

    command = serializers.CharField(
        trim_whitespace=False,
        allow_blank=True,
        max_length=MAX_COMMAND_BYTES,
        help_text="A `vllm serve` or `trtllm-serve` line with all around it, or the server's YAML.",
    )


class MappedObject(serializers.Serializer[Any]):
    flag = serializers.CharField()
    field = serializers.CharField(help_text="Dotted path in the config.")
    value = serializers.JSONField(allow_null=True)


class ChangedObject(MappedObject):
    reason = serializers.CharField(help_text="What it means there and here.")


class ChoiceObject(serializers.Serializer[Any]):
    label = serializers.CharField()  # type: ignore[assignment]
    patch = serializers.DictField(help_text="Dotted path to value; null removes.")


class QuestionObject(serializers.Serializer[Any]):
    """What the command leaves open; the first choice is what the config says now."""

    flag = serializers.CharField(allow_null=True)
    field = serializers.CharField()
    question = serializers.CharField()
    choices = ChoiceObject(many=True)


class NotCarriedObject(serializers.Serializer[Any]):
    flag = serializers.CharField()
    reason = serializers.CharField()


class OfferedSecretObject(serializers.Serializer[Any]):
    """A secret that stood in the command, by name."""

    name = serializers.CharField()
    found_in = serializers.CharField()
    reason = serializers.CharField()


@shown_as(examples.IMPORTED)
class CommandImportObject(serializers.Serializer[Any]):
    """A config made from a command."""

    server = serializers.ChoiceField(choices=[server.value for server in Server])
    text = serializers.CharField(help_text="The config as YAML.")
    complete = serializers.BooleanField(help_text="False while the checkpoint is unknown.")
    mapped = MappedObject(many=True)
    changed = ChangedObject(many=True)
    questions = QuestionObject(many=True)
    not_carried = NotCarriedObject(many=True)
    secrets = OfferedSecretObject(many=True)


class ExportQuery(StrictSerializer):
    format = serializers.ChoiceField(choices=[each.value for each in ExportFormat])
    revision = serializers.IntegerField(
        min_value=1, required=False, help_text="The last one when absent."
    )


@shown_as(examples.EXPORTED)
class ConfigExportObject(serializers.Serializer[Any]):
    """A revision in another program's words."""

    format = serializers.ChoiceField(choices=[each.value for each in ExportFormat])
    text = serializers.CharField(help_text="What to paste or save: a shell command, or YAML.")
    files = serializers.DictField(child=serializers.CharField(), help_text="Name to content.")
    changed = ChangedObject(many=True)
    not_carried = NotCarriedObject(many=True, help_text="`flag` is the config's dotted field.")
