"""Teams, people and keys in the hosted product's shapes (management API, 2026-08-22)."""

from typing import Any

from rest_framework import serializers

from apps.accounts.models import ApiKey, ApiKeyType, Team, User
from apps.rest.serializers import StrictSerializer


class TeamObject(serializers.ModelSerializer[Team]):
    default = serializers.BooleanField(source="is_default")

    class Meta:
        model = Team
        fields = ["id", "name", "default", "created_at"]


class TeamListObject(serializers.Serializer[Any]):
    teams = TeamObject(many=True)


class TeamQuery(StrictSerializer):
    name = serializers.CharField(required=False, max_length=64)


class UserObject(serializers.Serializer[User]):
    user_id = serializers.CharField(source="id")
    email = serializers.CharField(allow_null=True)
    name = serializers.CharField(allow_null=True)
    workspace_name = serializers.CharField(source="team.name", allow_null=True)


class ApiKeyOwnerObject(serializers.Serializer[User]):
    user_id = serializers.CharField(source="id")
    email = serializers.CharField(allow_null=True)
    name = serializers.CharField(allow_null=True)


class ApiKeyObject(serializers.Serializer[ApiKey]):
    """A key by its prefix; the key itself was shown once."""

    prefix = serializers.CharField()
    name = serializers.CharField(allow_null=True)
    type = serializers.ChoiceField(choices=ApiKeyType.choices)
    model_ids = serializers.ListField(child=serializers.CharField(), allow_null=True)
    team_name = serializers.CharField(source="team.name", allow_null=True)
    owner = ApiKeyOwnerObject(allow_null=True)
    created_at = serializers.DateTimeField()
    last_used_at = serializers.DateTimeField(allow_null=True)


class ApiKeyListObject(serializers.Serializer[Any]):
    keys = ApiKeyObject(many=True)


class ApiKeyCreateBody(StrictSerializer):
    name = serializers.RegexField(
        r"^[a-z0-9-]*$",
        required=False,
        allow_null=True,
        allow_blank=True,
        max_length=64,
        error_messages={"invalid": "`{input}` has more than lower-case letters, digits, hyphens."},
    )
    type = serializers.ChoiceField(choices=ApiKeyType.choices)
    model_ids = serializers.ListField(
        child=serializers.CharField(max_length=16), required=False, allow_null=True, max_length=1000
    )


class MadeApiKeyObject(serializers.Serializer[Any]):
    """The whole key, shown this once."""

    api_key = serializers.CharField()


class ApiKeyTombstone(serializers.Serializer[Any]):
    prefix = serializers.CharField()
