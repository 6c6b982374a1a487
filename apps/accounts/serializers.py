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
    default = serializers.BooleanField(
        source="is_default", help_text="Whether it is the team that new people join."
    )

    class Meta:
        model = Team
        fields = ["id", "name", "default", "created_at"]


class TeamListObject(serializers.Serializer[Any]):
    teams = TeamObject(many=True, help_text="Teams.")
    pagination = Pagination()


class TeamQuery(ListQuery):
    name = serializers.CharField(
        required=False, max_length=64, help_text="Only the team of exactly this name."
    )


@shown_as(examples.TEAM_NAMED)
class TeamNameBody(StrictSerializer):
    name = serializers.CharField(max_length=64, help_text="Its name.")


@shown_as(examples.USER)
class UserObject(serializers.Serializer[User]):
    user_id = serializers.CharField(source="id")
    email = serializers.CharField(allow_null=True)
    name = serializers.CharField(allow_null=True)
    workspace_name = serializers.CharField(
        source="team.name",
        allow_null=True,
        help_text="Name of the team that the call is made in; null where there is none.",
    )


@shown_as(examples.MEMBER)
class MemberObject(serializers.Serializer[Membership]):
    user_id = serializers.CharField()
    email = serializers.CharField(source="user.email")
    name = serializers.CharField(source="user.name")
    role = serializers.ChoiceField(
        choices=TeamRole.choices, help_text="What the person may do in the team."
    )
    is_active = serializers.BooleanField(source="user.is_active")


class MemberListObject(serializers.Serializer[Any]):
    members = MemberObject(many=True, help_text="People of the team.")
    pagination = Pagination()


@shown_as(examples.MEMBER_ROLE)
class MemberRoleBody(StrictSerializer):
    role = serializers.ChoiceField(
        choices=TeamRole.choices, help_text="What the person may do in the team from now on."
    )


@shown_as(examples.INVITED)
class InvitationBody(StrictSerializer):
    email = serializers.CharField(max_length=254, help_text="Who is invited.")
    role = serializers.ChoiceField(
        choices=TeamRole.choices,
        default=TeamRole.MEMBER,
        help_text="What that person may do in the team.",
    )


@shown_as(examples.INVITATION)
class InvitationObject(serializers.Serializer[Invitation]):
    id = serializers.CharField()
    email = serializers.CharField()
    role = serializers.ChoiceField(
        choices=TeamRole.choices, help_text="What that person may do in the team."
    )
    created_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField(help_text="Until when the link works.")


class InvitationListObject(serializers.Serializer[Any]):
    invitations = InvitationObject(many=True, help_text="Invitations that nobody has used.")
    pagination = Pagination()


@shown_as(examples.MADE_INVITATION)
class MadeInvitationObject(serializers.Serializer[Any]):
    """The whole link, shown this once."""

    invitation = InvitationObject(help_text="The invitation.")
    url = serializers.CharField(help_text="The link to send; it is shown this once.")


class PersonTeamObject(serializers.Serializer[Membership]):
    team_id = serializers.CharField()
    team_name = serializers.CharField(source="team.name")
    role = serializers.ChoiceField(
        choices=TeamRole.choices, help_text="What the person may do there."
    )


@shown_as(examples.PERSON)
class PersonObject(serializers.Serializer[User]):
    user_id = serializers.CharField(source="id")
    email = serializers.CharField()
    name = serializers.CharField()
    is_admin = serializers.BooleanField(
        help_text="Whether the person is an admin of the organisation."
    )
    is_active = serializers.BooleanField()
    last_sign_in_at = serializers.DateTimeField(
        source="last_login",
        allow_null=True,
        help_text="When the person signed in last; null where never.",
    )
    teams = PersonTeamObject(
        source="memberships", many=True, help_text="Teams that the person is in."
    )


class PersonListObject(serializers.Serializer[Any]):
    users = PersonObject(many=True, help_text="Everybody.")
    pagination = Pagination()


@shown_as(examples.PERSON_CHANGE)
class PersonBody(StrictSerializer):
    is_admin = serializers.BooleanField(
        required=False, help_text="Whether the person is an admin of the organisation."
    )
    is_active = serializers.BooleanField(
        required=False, help_text="Whether the person may sign in and use keys."
    )


class RestrictedPersonObject(serializers.Serializer[User]):
    user_id = serializers.CharField(source="id")
    email = serializers.CharField()


@shown_as(examples.RESTRICTION)
class RestrictedEnvironmentObject(serializers.Serializer[RestrictedEnvironment]):
    name = serializers.CharField(help_text="Name of the environment, in every model of the team.")
    people = RestrictedPersonObject(many=True, help_text="Who may change it.")
    created_at = serializers.DateTimeField()


class RestrictedEnvironmentListObject(serializers.Serializer[Any]):
    restricted_environments = RestrictedEnvironmentObject(
        many=True, help_text="Environments that not everybody may change."
    )
    pagination = Pagination()


@shown_as(examples.RESTRICTION_PEOPLE)
class RestrictedEnvironmentPeopleBody(StrictSerializer):
    user_ids = serializers.ListField(
        child=serializers.CharField(max_length=16),
        max_length=1000,
        help_text="Who may change it from now on.",
    )


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
        child=serializers.CharField(max_length=16),
        max_length=1000,
        required=False,
        help_text="Who may change it.",
    )


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
        child=_environment_name(),
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
