"""People, members and invitations in the hosted product's shapes (management API, 2026-08-22)."""

from typing import Any

from rest_framework import serializers

from apps.accounts import examples
from apps.accounts.models import Invitation, Membership, TeamRole, User
from apps.rest.examples import shown_as
from apps.rest.paging import Pagination
from apps.rest.serializers import StrictSerializer


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
    users = PersonObject(many=True, help_text="All users.")
    pagination = Pagination()


@shown_as(examples.PERSON_CHANGE)
class PersonBody(StrictSerializer):
    is_admin = serializers.BooleanField(
        required=False, help_text="Whether the person is an admin of the organisation."
    )
    is_active = serializers.BooleanField(
        required=False, help_text="Whether the person may sign in and use keys."
    )
