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
from apps.rest.failure_object import FailureObject


class SettingObject(serializers.Serializer[Any]):
    """One setting as the web process runs with it; the value of a secret is never shown."""

    name = serializers.CharField(help_text="The environment variable.")
    group = serializers.CharField(help_text="What it belongs to.")
    value = serializers.CharField(
        allow_null=True, help_text="Null for a secret, and for what only other hosts read."
    )
    shown = serializers.CharField(help_text="The value in words: of a secret `set` or `not set`.")
    is_secret = serializers.BooleanField(help_text="Whether its value is never shown.")
    source = serializers.ChoiceField(  # type: ignore[assignment]
        choices=["environment", "file", "manage.py up", "default", "each host"],
        help_text="Where the value comes from.",
    )
    default = serializers.CharField(help_text="What it is where nothing sets it, in words.")
    read_by = serializers.ListField(
        child=serializers.CharField(), help_text="Processes to restart for a new value."
    )
    says = serializers.CharField(help_text="What it does.")


class SchemaStateObject(serializers.Serializer[Any]):
    applied = serializers.IntegerField(help_text="Migrations that the database has.")
    missing = serializers.ListField(
        child=serializers.CharField(), help_text="Migrations that it lacks."
    )
    last = serializers.CharField(help_text="The one that was applied last.")
    last_at = serializers.DateTimeField(allow_null=True, help_text="When.")


class KeyRingStateObject(serializers.Serializer[Any]):
    keys = serializers.IntegerField(help_text="How many keys it has.")
    primary = serializers.CharField(help_text="Name of the key that seals new secrets.")
    sealed_by_older = serializers.IntegerField(
        help_text="Secrets that the next `manage.py secret_rotate` encrypts again."
    )
    rotated_at = serializers.DateTimeField(
        allow_null=True, help_text="When a key was added last; null where none was."
    )
    problem = serializers.CharField(help_text="Why this host cannot read the ring, or empty.")


class ProcessStateObject(serializers.Serializer[Any]):
    kind = serializers.CharField(help_text="What kind of process it is.")
    name = serializers.CharField(help_text="Its name: host and kind.")
    state = serializers.ChoiceField(
        choices=["live", "silent"], help_text="`silent` where it has said nothing for a while."
    )
    version = serializers.CharField(help_text="The version that it runs.")
    heard_at = serializers.DateTimeField(allow_null=True, help_text="Its last heartbeat.")
    clock_ahead_seconds = serializers.IntegerField(
        help_text="Of the database's clock, by more than a minute; negative where it is behind."
    )


class SetAsideStateObject(serializers.Serializer[Any]):
    gateway = serializers.CharField(help_text="The gateway that counted them.")
    requests = serializers.IntegerField(help_text="Not counted in any usage.")
    last = serializers.CharField(help_text="The last of them, and why it could not be counted.")
    last_at = serializers.DateTimeField(
        allow_null=True, help_text="When the last of them was set aside."
    )


class StorageStateObject(serializers.Serializer[Any]):
    artifacts_bytes = serializers.IntegerField(help_text="Artifacts in the store.")
    calibration_bytes = serializers.IntegerField(help_text="Calibration sets.")
    database_bytes = serializers.IntegerField(help_text="The database.")
    logs_bytes = serializers.IntegerField(help_text="Logs of builds and replicas in it.")
    artifacts_free_bytes = serializers.IntegerField(
        allow_null=True, help_text="Free where artifacts lie; null where the store does not say."
    )
    data_free_bytes = serializers.IntegerField(
        allow_null=True, help_text="Free where this host's data lie; null where it cannot be read."
    )
    artifacts_url = serializers.CharField(help_text="Where artifacts lie.")
    artifacts_problem = FailureObject(
        allow_null=True, help_text="The failure that the last check of the store found, or null."
    )
    artifacts_problem_since = serializers.DateTimeField(
        allow_null=True,
        help_text="Since when the check of the store has found it; null where it finds none.",
    )
    artifacts_checked_at = serializers.DateTimeField(
        allow_null=True, help_text="Null before the first check, which the control worker does."
    )


class KeptObject(serializers.Serializer[Any]):
    what = serializers.CharField(help_text="What is kept.")
    days = serializers.IntegerField(allow_null=True, help_text="Null: kept without limit.")
    setting = serializers.CharField(help_text="The setting that says so, or empty.")


@shown_as(INSTALLATION)
class InstallationObject(serializers.Serializer[Any]):
    """What the installation runs with, and how its parts are."""

    settings = SettingObject(many=True, help_text="Every setting.")
    versions = serializers.DictField(
        child=serializers.CharField(), help_text="Part to the version that runs."
    )
    schema = SchemaStateObject(help_text="How far the database's schema is.")
    key_ring = KeyRingStateObject(help_text="The key ring that secrets are sealed with.")
    processes = ProcessStateObject(many=True, help_text="Every process that has sent a heartbeat.")
    usage_set_aside = SetAsideStateObject(
        many=True, help_text="Requests whose usage could not be counted, by gateway."
    )
    storage = StorageStateObject(help_text="How much is stored, and where.")
    kept = KeptObject(many=True, help_text="What is kept for how long.")


class InstallationView(TeamView):
    actions: ClassVar = {"GET": Action.SETTINGS}

    @extend_schema(responses=InstallationObject)
    def get(self, request: Request) -> Response:
        """Return what the installation runs with; secrets are never shown."""
        settings_shown = [
            {"group": title, **each.to_json()}
            for title, group in effective_settings()
            for each in group
        ]
        state = installation_state().to_json()
        return Response(InstallationObject({"settings": settings_shown, **state}).data)
