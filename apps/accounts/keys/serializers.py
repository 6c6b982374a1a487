"""API keys in the hosted product's shapes (management API, 2026-08-22)."""

from typing import Any

from rest_framework import serializers

from apps.accounts import examples
from apps.accounts.environments.serializers import environment_name
from apps.accounts.models import ApiKey, ApiKeyType, User
from apps.rest.examples import shown_as
from apps.rest.paging import Pagination
from apps.rest.serializers import PatternField, StrictSerializer


class ApiKeyOwnerObject(serializers.Serializer[User]):
    user_id = serializers.CharField(source="id")
    email = serializers.CharField(allow_null=True)
    name = serializers.CharField(allow_null=True)


@shown_as(examples.KEY)
class ApiKeyObject(serializers.Serializer[ApiKey]):
    """A key by its prefix; the key itself was shown once."""

    prefix = serializers.CharField(help_text="The part before the dot, by which it is named.")
    name = serializers.CharField(
        allow_null=True, help_text="What it is called; null where nothing."
    )
    type = serializers.ChoiceField(choices=ApiKeyType.choices, help_text="What it may do.")
    model_ids = serializers.ListField(
        child=serializers.CharField(),
        allow_null=True,
        help_text="Models that it may call; null for all.",
    )
    team_name = serializers.CharField(source="team.name", allow_null=True)
    owner = ApiKeyOwnerObject(allow_null=True, help_text="Whose it is; null for a key of the team.")
    created_at = serializers.DateTimeField()
    last_used_at = serializers.DateTimeField(
        allow_null=True, help_text="When it was used last; null where never."
    )
    expires_at = serializers.DateTimeField(
        allow_null=True, help_text="When it stops working; null for never."
    )
    environments = serializers.ListField(
        child=serializers.CharField(),
        allow_null=True,
        help_text="Environments that it may call; null for all.",
    )
    requests_per_minute = serializers.IntegerField(
        allow_null=True, help_text="Requests that it may make in a minute; null for any number."
    )
    tokens_per_minute = serializers.IntegerField(
        allow_null=True, help_text="Tokens that it may use in a minute; null for any number."
    )
    parallel_requests = serializers.IntegerField(
        allow_null=True, help_text="Requests that it may have open at once; null for any number."
    )
    monthly_spend = serializers.DecimalField(
        max_digits=12,
        decimal_places=2,
        allow_null=True,
        help_text="What it may use up in a month, in the currency of the prices; null for any "
        "amount.",
    )
    spent_until = serializers.DateTimeField(
        allow_null=True, help_text="Until when gateways answer 402: the month's spend is used up."
    )


class ApiKeyListObject(serializers.Serializer[Any]):
    keys = ApiKeyObject(many=True, help_text="Keys, newest first.")
    pagination = Pagination()


def _limit() -> serializers.IntegerField:
    return serializers.IntegerField(
        min_value=1, max_value=2_000_000_000, required=False, allow_null=True
    )


@shown_as(examples.KEY_WANTED)
class ApiKeyCreateBody(StrictSerializer):
    name = PatternField(
        r"^[a-z0-9-]*$",
        says="has more than lower-case letters, digits, hyphens.",
        required=False,
        allow_null=True,
        allow_blank=True,
        max_length=64,
        help_text="What to call it.",
    )
    type = serializers.ChoiceField(choices=ApiKeyType.choices, help_text="What it may do.")
    model_ids = serializers.ListField(
        child=serializers.CharField(max_length=16),
        required=False,
        allow_null=True,
        max_length=1000,
        help_text="Models that it may call; all when absent.",
    )
    environments = serializers.ListField(
        child=environment_name(),
        required=False,
        allow_null=True,
        max_length=100,
        help_text="Environments that it may call; all when absent.",
    )
    expires_at = serializers.DateTimeField(
        required=False, allow_null=True, help_text="When it stops working; never when absent."
    )
    requests_per_minute = _limit()
    tokens_per_minute = _limit()
    parallel_requests = _limit()
    monthly_spend = serializers.DecimalField(
        max_digits=12,
        decimal_places=2,
        min_value=0,
        required=False,
        allow_null=True,
        help_text="What it may use up in a month, in the currency of the prices; any amount "
        "when absent.",
    )


@shown_as(examples.MADE_KEY)
class MadeApiKeyObject(serializers.Serializer[Any]):
    """The whole key, shown this once."""

    api_key = serializers.CharField(help_text="The key; it is shown this once.")


@shown_as(examples.KEY_TOMBSTONE)
class ApiKeyTombstone(serializers.Serializer[Any]):
    prefix = serializers.CharField(help_text="The key that was revoked.")
