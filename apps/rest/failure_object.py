"""A stored failure as every object of the API shows it."""

from typing import Any

from rest_framework import serializers

from controlplane.domain.failures import Blame


class FailureObject(serializers.Serializer[Any]):
    """Why something did not work: whose fault, what happened, what to change."""

    # Failures that an older release stored may lack the fields that may be null.
    code = serializers.CharField(
        help_text="Permanent code of the kind of failure; docs/failures.md lists every one."
    )
    blame = serializers.ChoiceField(
        choices=[each.value for each in Blame], help_text="Who has to act before a retry can work."
    )
    sentence = serializers.CharField(help_text="What happened, in the values of this config.")
    field = serializers.CharField(
        allow_null=True,
        default=None,
        help_text="Dotted path of the setting to change; null where none would help.",
    )
    hint = serializers.CharField(allow_null=True, default=None, help_text="What to do next.")
    fix = serializers.DictField(
        allow_null=True,
        default=None,
        help_text="A change to the config that avoids it, dotted path to value (null removes); "
        "null where none is known.",
    )
    detail = serializers.CharField(
        allow_null=True,
        default=None,
        help_text="The line of output that it was read from, without secrets.",
    )
