"""Secrets in the hosted product's shape, with what uses them beside it; values go in only."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from apps.rest.examples import shown_as
from apps.rest.paging import Pagination
from apps.rest.serializers import StrictSerializer
from apps.secrets import examples
from apps.secrets.models import Secret
from apps.secrets.services.targets import LONGEST_TARGET
from apps.secrets.services.values import LONGEST_VALUE_BYTES
from controlplane.domain.secret_tests import ProbeKind


class UseObject(serializers.Serializer[Any]):
    kind = serializers.CharField()
    id = serializers.CharField()
    name = serializers.CharField()
    url = serializers.CharField()


@shown_as(examples.SECRET)
class SecretObject(serializers.Serializer[Any]):
    id = serializers.CharField()
    created_at = serializers.DateTimeField()
    name = serializers.CharField()
    team_name = serializers.CharField(source="team.name")
    updated_at = serializers.DateTimeField()
    updated_by = serializers.SerializerMethodField()
    last_used_at = serializers.DateTimeField(allow_null=True)
    expires_at = serializers.DateTimeField(allow_null=True)
    is_readable = serializers.SerializerMethodField(
        help_text="Whether the key ring opens the value; if not, only what names it fails."
    )
    used_by = serializers.SerializerMethodField()

    @extend_schema_field(serializers.EmailField(allow_null=True))
    def get_updated_by(self, secret: Secret) -> str | None:
        return secret.updated_by.email if secret.updated_by else None

    def get_is_readable(self, secret: Secret) -> bool:
        return secret.id not in self.context["unreadable"]

    @extend_schema_field(UseObject(many=True))
    def get_used_by(self, secret: Secret) -> list[dict[str, str]]:
        uses = self.context["uses"].get(secret.name, [])
        return [{"kind": use.kind, "id": use.id, "name": use.name, "url": use.url} for use in uses]


class SecretListObject(serializers.Serializer[Any]):
    secrets = SecretObject(many=True)
    pagination = Pagination()


@shown_as(examples.SECRET_WANTED)
class SecretSetBody(StrictSerializer):
    name = serializers.CharField(max_length=253)
    value = serializers.CharField(
        max_length=LONGEST_VALUE_BYTES, trim_whitespace=False, write_only=True
    )
    expires_at = serializers.DateTimeField(required=False, allow_null=True, default=None)


@shown_as(examples.SECRET_EXPIRY)
class SecretExpiryBody(StrictSerializer):
    expires_at = serializers.DateTimeField(allow_null=True)


@shown_as(examples.TEST_WANTED)
class SecretTestBody(StrictSerializer):
    target = serializers.CharField(max_length=LONGEST_TARGET)


@shown_as(examples.TEST)
class SecretTestObject(serializers.Serializer[Any]):
    id = serializers.CharField()
    kind = serializers.ChoiceField(choices=[kind.value for kind in ProbeKind])
    target = serializers.CharField()
    state = serializers.ChoiceField(choices=["waiting", "running", "finished", "failed"])
    works = serializers.BooleanField(allow_null=True)
    sentence = serializers.CharField(allow_blank=True)
    hint = serializers.CharField(allow_blank=True)
    created_at = serializers.DateTimeField()
    finished_at = serializers.DateTimeField(allow_null=True)


class SecretTestListObject(serializers.Serializer[Any]):
    tests = SecretTestObject(many=True)
    pagination = Pagination()


@shown_as(examples.SECRET_TOMBSTONE)
class SecretTombstone(serializers.Serializer[Any]):
    name = serializers.CharField()
