"""People over REST: the caller, the members of a team, all users of the organisation."""

from typing import ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.models import TeamRole, User
from apps.accounts.people.invitations import invitation_create, invitation_withdraw
from apps.accounts.people.members import (
    member_remove,
    member_set_role,
    person_deactivate,
    person_reactivate,
    person_set_admin,
)
from apps.accounts.people.serializers import (
    InvitationBody,
    InvitationListObject,
    InvitationObject,
    MadeInvitationObject,
    MemberListObject,
    MemberObject,
    MemberRoleBody,
    PersonBody,
    PersonListObject,
    PersonObject,
    UserObject,
)
from apps.accounts.permissions import Action
from apps.accounts.rest_views import TeamView
from apps.accounts.selectors import invitation_list, member_list, person_list
from apps.rest.errors import NotFound
from apps.rest.paging import ListQuery, page_of
from apps.rest.serializers import validated


class MeView(TeamView):
    @extend_schema(responses=UserObject)
    def get(self, request: Request) -> Response:
        """Return the person who is calling."""
        if self.user is None:
            raise NotFound(
                "A team's key is nobody's in particular.", hint="Ask with a personal key."
            )
        return Response(UserObject(self.user).data)


class MemberListView(TeamView):
    @extend_schema(parameters=[ListQuery], responses=MemberListObject)
    def get(self, request: Request, team_id: str) -> Response:
        """Return who belongs to the team."""
        query = validated(ListQuery, request.query_params)
        page = page_of(member_list(self.team), by="user__email", **query)
        return Response(page.to_json(MemberObject, under="members"))


class MemberDetailView(TeamView):
    actions: ClassVar = {"PATCH": Action.TEAM_MEMBERS, "DELETE": Action.TEAM_MEMBERS}

    def member(self) -> User:
        user_id = self.kwargs["user_id"]
        member = member_list(self.team).filter(user=user_id).first()
        if member is None:
            raise NotFound(f"`{user_id}` is nobody of this team.")
        return member.user

    @extend_schema(request=MemberRoleBody, responses=MemberObject)
    def patch(self, request: Request, team_id: str, user_id: str) -> Response:
        """Change what a member is to the team."""
        body = validated(MemberRoleBody, request.data)
        member_set_role(team=self.team, user=self.member(), role=TeamRole(body["role"]))
        return Response(MemberObject(member_list(self.team).get(user=user_id)).data)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, team_id: str, user_id: str) -> Response:
        """Take a member out of the team; their keys to it end at once."""
        member_remove(team=self.team, user=self.member())
        return Response(status=204)


class InvitationListView(TeamView):
    actions: ClassVar = {"GET": Action.TEAM_MEMBERS, "POST": Action.TEAM_MEMBERS}

    @extend_schema(parameters=[ListQuery], responses=InvitationListObject)
    def get(self, request: Request, team_id: str) -> Response:
        """Return the open invitations, newest first."""
        page = page_of(invitation_list(self.team), **validated(ListQuery, request.query_params))
        return Response(page.to_json(InvitationObject, under="invitations"))

    @extend_schema(request=InvitationBody, responses={201: MadeInvitationObject})
    def post(self, request: Request, team_id: str) -> Response:
        """Invite someone; the answer is the only place where the link ever stands."""
        body = validated(InvitationBody, request.data)
        made = invitation_create(
            team=self.team,
            email=body["email"],
            role=TeamRole(body["role"]),
            user=self.user,
        )
        return Response(MadeInvitationObject(made).data, status=201)


class InvitationDetailView(TeamView):
    actions: ClassVar = {"DELETE": Action.TEAM_MEMBERS}

    @extend_schema(responses={204: None})
    def delete(self, request: Request, team_id: str, invitation_id: str) -> Response:
        """Withdraw an invitation."""
        invitation_withdraw(team=self.team, invitation_id=invitation_id)
        return Response(status=204)


class PersonListView(TeamView):
    actions: ClassVar = {"GET": Action.PEOPLE}

    @extend_schema(parameters=[ListQuery], responses=PersonListObject)
    def get(self, request: Request) -> Response:
        """Return all users of the organisation."""
        query = validated(ListQuery, request.query_params)
        page = page_of(person_list(), by="email", **query)
        return Response(page.to_json(PersonObject, under="users"))


class PersonDetailView(TeamView):
    actions: ClassVar = {"PATCH": Action.PEOPLE}

    @extend_schema(request=PersonBody, responses=PersonObject)
    def patch(self, request: Request, user_id: str) -> Response:
        """Make someone an admin of the organisation or deactivate them, and the reverse."""
        body = validated(PersonBody, request.data)
        person = person_list().filter(id=user_id).first()
        if person is None:
            raise NotFound(f"There is no user `{user_id}`.")
        if "is_admin" in body:
            person_set_admin(user=person, is_admin=body["is_admin"])
        if "is_active" in body:
            (person_reactivate if body["is_active"] else person_deactivate)(user=person)
        return Response(PersonObject(person_list().get(id=user_id)).data)
