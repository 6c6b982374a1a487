"""What the installation runs with, over REST, for admins of the organisation."""

from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.permissions import Action
from apps.accounts.rest_views import TeamView
from apps.dashboard.installation.effective import effective_settings
from apps.dashboard.installation.examples import INSTALLATION
from apps.dashboard.installation.state import installation_state
from apps.rest.examples import shown_as


class SettingObject(serializers.Serializer[Any]):
    """One setting as the web process runs with it; the value of a secret is never told."""

    name = serializers.CharField()
    group = serializers.CharField()
    value = serializers.CharField(
        allow_null=True, help_text="Null for a secret, and for what only other hosts read."
    )
    shown = serializers.CharField(help_text="The value in words: of a secret `set` or `not set`.")
    is_secret = serializers.BooleanField()
    source = serializers.ChoiceField(  # type: ignore[assignment]
        choices=["environment", "file", "manage.py up", "default", "each host"]
    )
    default = serializers.CharField()
    read_by = serializers.ListField(
        child=serializers.CharField(), help_text="Processes to restart for a new value."
    )
    says = serializers.CharField()


class SchemaStateObject(serializers.Serializer[Any]):
    applied = serializers.IntegerField()
    missing = serializers.ListField(child=serializers.CharField())
    last = serializers.CharField()
    last_at = serializers.DateTimeField(allow_null=True)


class KeyRingStateObject(serializers.Serializer[Any]):
    keys = serializers.IntegerField()
    primary = serializers.CharField()
    sealed_by_older = serializers.IntegerField(
        help_text="Secrets that the next `manage.py secret_rotate` seals anew."
    )
    rotated_at = serializers.DateTimeField(allow_null=True)
    problem = serializers.CharField(help_text="Why this host cannot read the ring, or empty.")


class ProcessStateObject(serializers.Serializer[Any]):
    kind = serializers.CharField()
    name = serializers.CharField()
    state = serializers.ChoiceField(choices=["live", "silent"])
    version = serializers.CharField()
    heard_at = serializers.DateTimeField(allow_null=True)
    clock_ahead_seconds = serializers.IntegerField(
        help_text="Of the database's clock, by more than a minute; negative where it is behind."
    )


class SetAsideStateObject(serializers.Serializer[Any]):
    gateway = serializers.CharField()
    requests = serializers.IntegerField(help_text="Not counted in any usage.")
    last = serializers.CharField(help_text="The last of them, and why it could not be counted.")
    last_at = serializers.DateTimeField(allow_null=True)


class StorageStateObject(serializers.Serializer[Any]):
    artifacts_bytes = serializers.IntegerField()
    calibration_bytes = serializers.IntegerField()
    database_bytes = serializers.IntegerField()
    logs_bytes = serializers.IntegerField()
    artifacts_free_bytes = serializers.IntegerField(allow_null=True)
    data_free_bytes = serializers.IntegerField(allow_null=True)
    artifacts_url = serializers.CharField()
    artifacts_problem = serializers.DictField(
        allow_null=True, help_text="The failure that the last check of the store found, or null."
    )
    artifacts_problem_since = serializers.DateTimeField(allow_null=True)
    artifacts_checked_at = serializers.DateTimeField(
        allow_null=True, help_text="Null before the first check, which the control worker does."
    )


class KeptObject(serializers.Serializer[Any]):
    what = serializers.CharField()
    days = serializers.IntegerField(allow_null=True, help_text="Null: for ever.")
    setting = serializers.CharField(help_text="The setting that says so, or empty.")


@shown_as(INSTALLATION)
class InstallationObject(serializers.Serializer[Any]):
    """What the installation runs with, and how its parts are."""

    settings = SettingObject(many=True)
    versions = serializers.DictField(child=serializers.CharField())
    schema = SchemaStateObject()
    key_ring = KeyRingStateObject()
    processes = ProcessStateObject(many=True)
    usage_set_aside = SetAsideStateObject(many=True)
    storage = StorageStateObject()
    kept = KeptObject(many=True)


class InstallationView(TeamView):
    actions: ClassVar = {"GET": Action.SETTINGS}

    @extend_schema(responses=InstallationObject)
    def get(self, request: Request) -> Response:
        """Return what the installation runs with; secrets are never told."""
        told = [
            {"group": title, **each.to_json()}
            for title, group in effective_settings()
            for each in group
        ]
        state = installation_state().to_json()
        return Response(InstallationObject({"settings": told, **state}).data)
