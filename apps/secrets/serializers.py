"""Secrets in the hosted product's shape, with what uses them beside it; values go in only."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from apps.rest.serializers import StrictSerializer
from apps.secrets.models import Secret
from apps.secrets.services.values import LONGEST_VALUE_BYTES


class UseObject(serializers.Serializer[Any]):
    kind = serializers.CharField()
    id = serializers.CharField()
    name = serializers.CharField()


class SecretObject(serializers.Serializer[Any]):
    id = serializers.CharField()
    created_at = serializers.DateTimeField()
    name = serializers.CharField()
    team_name = serializers.CharField(source="team.name")
    updated_at = serializers.DateTimeField()
    last_used_at = serializers.DateTimeField(allow_null=True)
    used_by = serializers.SerializerMethodField()

    @extend_schema_field(UseObject(many=True))
    def get_used_by(self, secret: Secret) -> list[dict[str, str]]:
        uses = self.context["uses"].get(secret.name, [])
        return [{"kind": use.kind, "id": use.id, "name": use.name} for use in uses]


class SecretListObject(serializers.Serializer[Any]):
    secrets = SecretObject(many=True)


class SecretSetBody(StrictSerializer):
    name = serializers.CharField(max_length=253)
    value = serializers.CharField(
        max_length=LONGEST_VALUE_BYTES, trim_whitespace=False, write_only=True
    )


class SecretTombstone(serializers.Serializer[Any]):
    name = serializers.CharField()
