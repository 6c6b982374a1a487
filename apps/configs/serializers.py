from typing import Any

from rest_framework import serializers

from apps.configs import examples
from apps.configs.config_bodies import ConfigFileField
from apps.configs.models import Config, Revision
from apps.configs.plan_object import PlanObject
from apps.rest.examples import shown_as
from apps.rest.paging import page_schema
from apps.rest.serializers import ErrorSource, StrictSerializer
from controlplane.domain.commands.invocation import MAX_COMMAND_BYTES, Server
from controlplane.domain.runtimes.exporting import ExportFormat


class FixObject(serializers.Serializer[Any]):
    label = serializers.CharField(help_text="What its button says.")  # type: ignore[assignment]
    patch = serializers.DictField(help_text="Dotted path to value; null removes.")
    safe = serializers.BooleanField(help_text="Whether the served output stays the same.")


class FindingObject(serializers.Serializer[Any]):
    code = serializers.CharField(
        help_text="Permanent code of the rule; docs/rules.md lists every one."
    )
    name = serializers.CharField(help_text='Permanent name of the rule; reads after "allow".')
    severity = serializers.ChoiceField(
        choices=["error", "warning", "hint"],
        help_text="`error` blocks a build; `warning` works but costs; `hint` is advice.",
    )
    message = serializers.CharField(
        help_text="What is wrong, in the values of this config, and why."
    )
    fields = serializers.ListField(
        child=serializers.CharField(),
        help_text="Dotted paths of the settings that it is about, the first one first to change.",
    )  # type: ignore[assignment]
    line = serializers.IntegerField(
        allow_null=True,
        help_text="Line of the first setting in the text, from 1; null where it is not written.",
    )
    column = serializers.IntegerField(
        allow_null=True, default=None, help_text="Column in that line, from 1."
    )
    fix = FixObject(
        allow_null=True,
        help_text="A change that was tried: it removes the finding and adds no error. Null where "
        "none does.",
    )
    no_fix = serializers.CharField(
        allow_null=True,
        default=None,
        help_text="Why no fix is offered, of an error or a warning that has none.",
    )
    source = ErrorSource(allow_null=True, help_text="The document that the rule rests on.")  # type: ignore[assignment]


class WaitingObject(serializers.Serializer[Any]):
    code = serializers.CharField(help_text="Permanent code of the rule that waits.")
    name = serializers.CharField(help_text="Permanent name of that rule.")
    facts = serializers.ListField(child=serializers.CharField(), help_text="What it waits for.")
    message = serializers.CharField(help_text="The same in words.")


class EffectiveObject(serializers.Serializer[Any]):
    field = serializers.CharField(help_text="Dotted path of the setting.")
    asked = serializers.JSONField(
        allow_null=True, help_text="The value in the config; null where it says nothing."
    )
    effective = serializers.JSONField(allow_null=True, help_text="The value that is used.")
    reason = serializers.CharField(help_text="Why it differs.")


@shown_as(examples.EXAMINATION)
class ExaminationObject(serializers.Serializer[Any]):
    """What the checks say of a config."""

    findings = FindingObject(many=True, help_text="What the rules found, worst first.")
    waiting = WaitingObject(
        many=True,
        help_text="Rules whose facts have not arrived; a build does not start while there is one.",
    )
    effective = EffectiveObject(
        many=True, help_text="Settings whose value in use differs from the one that is written."
    )
    runtime = serializers.CharField(
        allow_blank=True, help_text="What serves it, chosen where it says `auto`."
    )
    runtime_version = serializers.CharField(
        allow_blank=True,
        help_text="Which of its versions was checked: the oldest that hosts with the GPU ran, else "
        "the one that is planned for.",
    )
    untested = serializers.ListField(
        child=serializers.CharField(),
        help_text="What it asks of that runtime and was not seen to run by us on such a GPU.",
    )
    plan = PlanObject(allow_null=True, help_text="The memory plan; null while it cannot be made.")
    blocks_build = serializers.BooleanField(
        help_text="Whether a build would be refused: an error, or a rule that waits."
    )


@shown_as(examples.CONFIG)
class ConfigObject(serializers.Serializer[Config]):
    """A config in a list; `revision` is the number of the last one."""

    id = serializers.CharField()
    name = serializers.CharField()
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()
    revision = serializers.IntegerField(
        source="last_number", help_text="Number of the last revision."
    )
    blocks_build = serializers.BooleanField(
        source="last_blocks_build",
        help_text="Whether the checks blocked a build of it when it was saved or checked last.",
    )


@shown_as(examples.REVISION)
class RevisionObject(serializers.Serializer[Revision]):
    """A revision in a list: what was true when it was saved."""

    number = serializers.IntegerField(help_text="Its number within the config, from 1.")
    config_id = serializers.CharField(help_text="The config that it is a state of.")
    created_at = serializers.DateTimeField()
    created_by = serializers.EmailField(source="created_by.email", allow_null=True, default=None)
    blocks_build = serializers.BooleanField(
        help_text="Whether the checks blocked a build of it when it was saved or checked last."
    )


@shown_as(examples.REVISION_WHOLE)
class RevisionDetailObject(RevisionObject):
    """A revision whole, with what the checks say of it now."""

    text = serializers.CharField(help_text="The file as it was written.")
    config = ConfigFileField(source="spec", help_text="The parsed file, defaults included.")
    examination = ExaminationObject(help_text="What the checks say of it now.")


@shown_as(examples.CONFIG_WHOLE)
class ConfigDetailObject(ConfigObject):
    last_revision = RevisionDetailObject(help_text="Its last revision, whole.")


ConfigPage = page_schema(ConfigObject)
RevisionPage = page_schema(RevisionObject)


@shown_as({"name": "llama-3.3-70b-fp8"})
class ConfigRenameBody(StrictSerializer):
    name = serializers.CharField(max_length=128, help_text="The new name.")


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
    flag = serializers.CharField(help_text="The flag as it was written, with its value.")
    field = serializers.CharField(help_text="Dotted path in the config.")
    value = serializers.JSONField(allow_null=True, help_text="The value that it became.")


class ChangedObject(MappedObject):
    reason = serializers.CharField(help_text="What it means there and here.")


class ChoiceObject(serializers.Serializer[Any]):
    label = serializers.CharField(help_text="What its button says.")  # type: ignore[assignment]
    patch = serializers.DictField(help_text="Dotted path to value; null removes.")


class QuestionObject(serializers.Serializer[Any]):
    """What the command leaves open; the first choice is what the config says now."""

    flag = serializers.CharField(
        allow_null=True, help_text="The flag that leaves it open; null where no flag would say it."
    )
    field = serializers.CharField(help_text="Dotted path of the setting to decide.")
    question = serializers.CharField(help_text="The question in words.")
    choices = ChoiceObject(
        many=True, help_text="Its answers; the first one is what the config says now."
    )


class NotCarriedObject(serializers.Serializer[Any]):
    flag = serializers.CharField(help_text="The flag or setting that has no place.")
    reason = serializers.CharField(help_text="Why, and what takes its place.")


class OfferedSecretObject(serializers.Serializer[Any]):
    """A secret that stood in the command, by name."""

    name = serializers.CharField(help_text="The name to store it under.")
    found_in = serializers.CharField(help_text="The flag or variable that it stood in.")
    reason = serializers.CharField(help_text="What it is needed for.")


@shown_as(examples.IMPORTED)
class CommandImportObject(serializers.Serializer[Any]):
    """A config made from a command."""

    server = serializers.ChoiceField(
        choices=[server.value for server in Server], help_text="Whose command it is."
    )
    text = serializers.CharField(help_text="The config as YAML.")
    complete = serializers.BooleanField(help_text="False while the checkpoint is unknown.")
    mapped = MappedObject(many=True, help_text="Flags that mean the same here.")
    changed = ChangedObject(many=True, help_text="Flags that mean something else here.")
    questions = QuestionObject(many=True, help_text="What the command leaves open.")
    not_carried = NotCarriedObject(many=True, help_text="Flags without a place here.")
    secrets = OfferedSecretObject(
        many=True,
        help_text="Secrets that stood in the command, by name; their values are not kept.",
    )


class ExportQuery(StrictSerializer):
    format = serializers.ChoiceField(
        choices=[each.value for each in ExportFormat],
        help_text="What to write: a command or a file of which program.",
    )
    revision = serializers.IntegerField(
        min_value=1, required=False, help_text="The last one when absent."
    )


@shown_as(examples.EXPORTED)
class ConfigExportObject(serializers.Serializer[Any]):
    """A revision in another program's words."""

    format = serializers.ChoiceField(
        choices=[each.value for each in ExportFormat], help_text="What was written."
    )
    text = serializers.CharField(help_text="What to paste or save: a shell command, or YAML.")
    files = serializers.DictField(child=serializers.CharField(), help_text="Name to content.")
    changed = ChangedObject(many=True, help_text="Settings that mean something else there.")
    not_carried = NotCarriedObject(many=True, help_text="`flag` is the config's dotted field.")
