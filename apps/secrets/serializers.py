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
    kind = serializers.ChoiceField(
        choices=["config", "build", "push", "deployment", "alert_channel"],
        help_text="What uses it.",
    )
    id = serializers.CharField(help_text="Its id.")
    name = serializers.CharField()
    url = serializers.CharField(help_text="Its page.")


@shown_as(examples.SECRET)
class SecretObject(serializers.Serializer[Any]):
    id = serializers.CharField()
    created_at = serializers.DateTimeField()
    name = serializers.CharField(help_text="What configs call it; `-` and `_` are the same letter.")
    team_name = serializers.CharField(source="team.name")
    updated_at = serializers.DateTimeField()
    updated_by = serializers.SerializerMethodField(
        help_text="Who set the value last; null where the person is gone."
    )
    last_used_at = serializers.DateTimeField(
        allow_null=True,
        help_text="When a build or a check got the value last; null where none has.",
    )
    expires_at = serializers.DateTimeField(allow_null=True)
    is_readable = serializers.SerializerMethodField(
        help_text="Whether the key ring opens the value; if not, only what names it fails."
    )
    used_by = serializers.SerializerMethodField(help_text="What names it.")

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
    secrets = SecretObject(many=True, help_text="Secrets, newest first.")
    pagination = Pagination()


@shown_as(examples.SECRET_WANTED)
class SecretSetBody(StrictSerializer):
    name = serializers.CharField(
        max_length=253, help_text="What configs call it; `-` and `_` are the same letter."
    )
    value = serializers.CharField(
        max_length=LONGEST_VALUE_BYTES,
        trim_whitespace=False,
        write_only=True,
        help_text="The value, which no answer ever shows.",
    )
    expires_at = serializers.DateTimeField(
        required=False,
        allow_null=True,
        default=None,
        help_text="When the value stops working; null where it does not.",
    )


@shown_as(examples.SECRET_EXPIRY)
class SecretExpiryBody(StrictSerializer):
    expires_at = serializers.DateTimeField(
        allow_null=True, help_text="When the value stops working; null where it does not."
    )


@shown_as(examples.TEST_WANTED)
class SecretTestBody(StrictSerializer):
    target = serializers.CharField(
        max_length=LONGEST_TARGET,
        help_text="What to try it on: a repository, a bucket or an address.",
    )


@shown_as(examples.TEST)
class SecretTestObject(serializers.Serializer[Any]):
    id = serializers.CharField()
    kind = serializers.ChoiceField(
        choices=[kind.value for kind in ProbeKind], help_text="What it was tried on."
    )
    target = serializers.CharField(help_text="The repository, bucket or address.")
    state = serializers.ChoiceField(
        choices=["waiting", "running", "finished", "failed"], help_text="Where the test is."
    )
    works = serializers.BooleanField(
        allow_null=True, help_text="Whether the secret opened it; null until it has finished."
    )
    sentence = serializers.CharField(
        allow_blank=True, help_text="What was found; blank until then."
    )
    hint = serializers.CharField(
        allow_blank=True, help_text="What to do; blank where nothing is to do."
    )
    created_at = serializers.DateTimeField()
    finished_at = serializers.DateTimeField(allow_null=True)


class SecretTestListObject(serializers.Serializer[Any]):
    tests = SecretTestObject(many=True, help_text="Tests, newest first.")
    pagination = Pagination()


@shown_as(examples.SECRET_TOMBSTONE)
class SecretTombstone(serializers.Serializer[Any]):
    name = serializers.CharField(help_text="The secret that was deleted.")
