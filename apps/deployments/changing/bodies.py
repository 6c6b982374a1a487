from typing import Any

from rest_framework import serializers

from apps.builds.comparisons.api import ComparedPartObject
from apps.configs.config_bodies import ConfigBody
from apps.configs.serializers import ExaminationObject
from apps.deployments import examples
from apps.deployments.serializers import DeploymentObject
from apps.rest.examples import shown_as


@shown_as(examples.SETTINGS_CHANGE)
class SettingsChangeBody(ConfigBody):
    """The whole config as it is to be: either `text` or `config`."""

    environment = serializers.CharField(
        required=False,
        max_length=64,
        allow_blank=True,
        help_text="Where it goes once it is ready: where the deployment serves when absent, beside "
        "what serves when empty.",
    )
    dry_run = serializers.BooleanField(
        default=False, help_text="Whether to say only what would change."
    )


@shown_as(examples.SETTINGS_CHANGED)
class SettingsChangeObject(serializers.Serializer[Any]):
    needs_build = serializers.BooleanField(
        help_text="Whether another artifact is built; else the one that serves is taken."
    )
    reasons_to_build = serializers.ListField(
        child=serializers.CharField(), help_text="The settings that ask for another artifact."
    )
    environment = serializers.CharField(
        allow_blank=True, help_text="Where it goes, by a roll; empty where beside what serves."
    )
    later_revision = serializers.IntegerField(
        allow_null=True,
        help_text="The config's last revision where that is not the one that is served; null else.",
    )
    examination = ExaminationObject(help_text="What the checks say of it.")
    differences = ComparedPartObject(many=True, help_text="What differs of settings and plan.")
    deployment = DeploymentObject(
        allow_null=True, help_text="What takes over once it is ready; null of a dry run."
    )
