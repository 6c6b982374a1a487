"""Teams, people and keys in the hosted product's shapes (management API, 2026-08-22)."""

from typing import Any

from rest_framework import serializers

from apps.accounts import examples
from apps.accounts.models import (
    ApiKey,
    ApiKeyType,
    Invitation,
    Membership,
    RestrictedEnvironment,
    Team,
    TeamRole,
    User,
)
from apps.rest.examples import shown_as
from apps.rest.paging import ListQuery, Pagination
from apps.rest.serializers import PatternField, StrictSerializer


@shown_as(examples.TEAM)
class TeamObject(serializers.ModelSerializer[Team]):
    default = serializers.BooleanField(source="is_default")

    class Meta:
        model = Team
        fields = ["id", "name", "default", "created_at"]


class TeamListObject(serializers.Serializer[Any]):
    teams = TeamObject(many=True)
    pagination = Pagination()


class TeamQuery(ListQuery):
    name = serializers.CharField(required=False, max_length=64)


@shown_as(examples.TEAM_NAMED)
class TeamNameBody(StrictSerializer):
    name = serializers.CharField(max_length=64)


@shown_as(examples.USER)
class UserObject(serializers.Serializer[User]):
    user_id = serializers.CharField(source="id")
    email = serializers.CharField(allow_null=True)
    name = serializers.CharField(allow_null=True)
    workspace_name = serializers.CharField(source="team.name", allow_null=True)


@shown_as(examples.MEMBER)
class MemberObject(serializers.Serializer[Membership]):
    user_id = serializers.CharField()
    email = serializers.CharField(source="user.email")
    name = serializers.CharField(source="user.name")
    role = serializers.ChoiceField(choices=TeamRole.choices)
    is_active = serializers.BooleanField(source="user.is_active")


class MemberListObject(serializers.Serializer[Any]):
    members = MemberObject(many=True)
    pagination = Pagination()


@shown_as(examples.MEMBER_ROLE)
class MemberRoleBody(StrictSerializer):
    role = serializers.ChoiceField(choices=TeamRole.choices)


@shown_as(examples.INVITED)
class InvitationBody(StrictSerializer):
    email = serializers.CharField(max_length=254)
    role = serializers.ChoiceField(choices=TeamRole.choices, default=TeamRole.MEMBER)


@shown_as(examples.INVITATION)
class InvitationObject(serializers.Serializer[Invitation]):
    id = serializers.CharField()
    email = serializers.CharField()
    role = serializers.ChoiceField(choices=TeamRole.choices)
    created_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField()


class InvitationListObject(serializers.Serializer[Any]):
    invitations = InvitationObject(many=True)
    pagination = Pagination()


@shown_as(examples.MADE_INVITATION)
class MadeInvitationObject(serializers.Serializer[Any]):
    """The whole link, shown this once."""

    invitation = InvitationObject()
    url = serializers.CharField()


class PersonTeamObject(serializers.Serializer[Membership]):
    team_id = serializers.CharField()
    team_name = serializers.CharField(source="team.name")
    role = serializers.ChoiceField(choices=TeamRole.choices)


@shown_as(examples.PERSON)
class PersonObject(serializers.Serializer[User]):
    user_id = serializers.CharField(source="id")
    email = serializers.CharField()
    name = serializers.CharField()
    is_admin = serializers.BooleanField()
    is_active = serializers.BooleanField()
    last_sign_in_at = serializers.DateTimeField(source="last_login", allow_null=True)
    teams = PersonTeamObject(source="memberships", many=True)


class PersonListObject(serializers.Serializer[Any]):
    users = PersonObject(many=True)
    pagination = Pagination()


@shown_as(examples.PERSON_CHANGE)
class PersonBody(StrictSerializer):
    is_admin = serializers.BooleanField(required=False)
    is_active = serializers.BooleanField(required=False)


class RestrictedPersonObject(serializers.Serializer[User]):
    user_id = serializers.CharField(source="id")
    email = serializers.CharField()


@shown_as(examples.RESTRICTION)
class RestrictedEnvironmentObject(serializers.Serializer[RestrictedEnvironment]):
    name = serializers.CharField()
    people = RestrictedPersonObject(many=True)
    created_at = serializers.DateTimeField()


class RestrictedEnvironmentListObject(serializers.Serializer[Any]):
    restricted_environments = RestrictedEnvironmentObject(many=True)
    pagination = Pagination()


@shown_as(examples.RESTRICTION_PEOPLE)
class RestrictedEnvironmentPeopleBody(StrictSerializer):
    user_ids = serializers.ListField(child=serializers.CharField(max_length=16), max_length=1000)


def _environment_name() -> PatternField:
    return PatternField(
        r"^[a-z0-9][a-z0-9_-]{0,63}$",
        says="is no name of an environment: 1 to 64 lower-case letters, digits, `-` and `_`, "
        "beginning with a letter or a digit.",
    )


@shown_as(examples.RESTRICTION_WANTED)
class RestrictedEnvironmentBody(StrictSerializer):
    name = _environment_name()
    user_ids = serializers.ListField(
        child=serializers.CharField(max_length=16), max_length=1000, required=False
    )


class ApiKeyOwnerObject(serializers.Serializer[User]):
    user_id = serializers.CharField(source="id")
    email = serializers.CharField(allow_null=True)
    name = serializers.CharField(allow_null=True)


@shown_as(examples.KEY)
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
    expires_at = serializers.DateTimeField(allow_null=True)
    environments = serializers.ListField(child=serializers.CharField(), allow_null=True)
    requests_per_minute = serializers.IntegerField(allow_null=True)
    tokens_per_minute = serializers.IntegerField(allow_null=True)
    parallel_requests = serializers.IntegerField(allow_null=True)
    monthly_spend = serializers.DecimalField(max_digits=12, decimal_places=2, allow_null=True)
    spent_until = serializers.DateTimeField(
        allow_null=True, help_text="Until when gateways answer 402: the month's spend is used up."
    )


class ApiKeyListObject(serializers.Serializer[Any]):
    keys = ApiKeyObject(many=True)
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
    )
    type = serializers.ChoiceField(choices=ApiKeyType.choices)
    model_ids = serializers.ListField(
        child=serializers.CharField(max_length=16), required=False, allow_null=True, max_length=1000
    )
    environments = serializers.ListField(
        child=_environment_name(),
        required=False,
        allow_null=True,
        max_length=100,
    )
    expires_at = serializers.DateTimeField(required=False, allow_null=True)
    requests_per_minute = _limit()
    tokens_per_minute = _limit()
    parallel_requests = _limit()
    monthly_spend = serializers.DecimalField(
        max_digits=12, decimal_places=2, min_value=0, required=False, allow_null=True
    )


@shown_as(examples.MADE_KEY)
class MadeApiKeyObject(serializers.Serializer[Any]):
    """The whole key, shown this once."""

    api_key = serializers.CharField()


@shown_as(examples.KEY_TOMBSTONE)
class ApiKeyTombstone(serializers.Serializer[Any]):
    prefix = serializers.CharField()
