"""Who belongs to a team, what each may do there, and what a stranger learns: nothing."""

import pytest
from django.test import Client

from apps.accounts.environments.services import environment_restrict
from apps.accounts.models import ApiKey, Membership, RoutesVersion, Team, TeamRole, User
from apps.accounts.people.invitations import invitation_create
from apps.accounts.people.members import member_add, person_set_admin
from apps.accounts.permissions import Action, Actor, Role, allowed, require
from apps.rest.errors import Conflict, NotAllowed
from tests.apps.pages import signed_in
from tests.apps.rest_client import RestClient, client_of
from tests.factories import Cast, make_api_key, make_cast, make_config, make_team, make_user

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("broker")]

PASSWORD = "a long enough password"


@pytest.fixture
def cast() -> Cast:
    return make_cast()


def test_the_matrix_is_what_the_hosted_product_says(cast: Cast) -> None:
    requests = (Action.WRITE, Action.TEAM_KEYS, Action.TEAM_MEMBERS, Action.RESTRICT, Action.TEAMS)
    answers = {
        actor.role: [allowed(actor, action) for action in requests]
        for actor in (
            Actor(team=cast.team, user=cast.organisation_admin),
            Actor(team=cast.team, user=cast.outsider),
            Actor(team=cast.team, user=cast.owner),
            Actor(team=cast.team, user=cast.member),
        )
    }
    assert answers == {
        Role.ORGANISATION_ADMIN: [True, True, True, True, True],
        Role.ORGANISATION_MEMBER: [False, False, False, False, False],
        Role.TEAM_ADMIN: [True, True, True, True, False],
        Role.TEAM_MEMBER: [True, False, False, False, False],
    }


@pytest.mark.parametrize(
    "action", [Action.LABEL, Action.PRICE, Action.DRAIN, Action.CORDON, Action.ASSIGN_DEVICES]
)
def test_nodes_serve_every_team_so_only_the_organisation_changes_them(
    cast: Cast, action: Action
) -> None:
    assert allowed(Actor(team=cast.team, user=cast.organisation_admin), action)
    for user in (cast.owner, cast.member):
        with pytest.raises(NotAllowed, match="You may not") as refused:
            require(Actor(team=cast.team, user=user), action)
        assert refused.value.hint == "Ask an admin of the organisation."


def test_a_role_holds_in_its_own_team_only(cast: Cast) -> None:
    other = make_team()
    member_add(team=other, user=cast.owner, role=TeamRole.MEMBER)
    me = client_of(cast.owner)
    assert {team["id"] for team in me.get("/v1/teams")[1]["teams"]} == {cast.team.id, other.id}
    invitation = {"email": "new@example.com"}
    assert me.post(f"/v1/teams/{cast.team.id}/invitations", invitation)[0] == 201
    assert me.post(f"/v1/teams/{other.id}/invitations", invitation)[0] == 403


def test_an_outsider_does_not_learn_that_a_team_exists(cast: Cast) -> None:
    stranger = client_of(cast.outsider)
    for path in ("", "/members", "/invitations", "/restricted_environments", "/models"):
        real = stranger.get(f"/v1/teams/{cast.team.id}{path}")
        assert real[0] == 404
        assert real[1]["message"].replace(cast.team.id, "x") == "There is no team `x`."


def test_an_invited_stranger_makes_an_account_and_belongs(cast: Cast) -> None:
    body = client_of(cast.owner).post(
        f"/v1/teams/{cast.team.id}/invitations", {"email": "New@Example.com", "role": "admin"}
    )[1]
    path = "/join/" + body["url"].split("/join/")[1]
    browser = Client()
    assert "Join inside" in browser.get(path).content.decode()
    weak = browser.post(path, {"name": "New", "password": "short"})
    assert weak.status_code == 400
    assert "at least 12 characters" in weak.content.decode()
    assert browser.post(path, {"name": "New", "password": PASSWORD}).status_code == 302
    assert browser.get("/people/").status_code == 200
    made = Membership.objects.get(user__email__iexact="new@example.com")
    assert (made.team, made.role) == (cast.team, "admin")
    assert Client().get(path).status_code == 410, "the link works once"


def test_who_has_an_account_joins_with_it_and_nobody_joins_for_another(cast: Cast) -> None:
    made = invitation_create(
        team=cast.team, email=cast.outsider.email, role=TeamRole.MEMBER, user=cast.owner
    )
    path = "/join/" + made.url.split("/join/")[1]
    assert "Sign in to join" in Client().get(path).content.decode()
    wrong = signed_in(cast.member).post(path)
    assert wrong.status_code == 400
    assert "you are signed in as member@example.com" in wrong.content.decode()
    signed_in(cast.outsider).post(path)
    cast.outsider.refresh_from_db()
    assert cast.outsider.team == cast.team
    assert Membership.objects.get(user=cast.outsider, team=cast.team).role == "member"


def test_a_newer_invitation_ends_the_older_one_and_a_withdrawn_one_is_spent(cast: Cast) -> None:
    path = f"/v1/teams/{cast.team.id}/invitations"
    admin = client_of(cast.owner)
    first, second = (admin.post(path, {"email": "a@example.com"})[1] for _ in range(2))
    assert Client().get("/join/" + first["url"].split("/join/")[1]).status_code == 410
    assert [each["id"] for each in admin.get(path)[1]["invitations"]] == [
        second["invitation"]["id"]
    ]
    assert admin.delete(f"{path}/{second['invitation']['id']}")[0] == 204
    assert Client().get("/join/" + second["url"].split("/join/")[1]).status_code == 410
    assert admin.post(path, {"email": "no address"})[1]["fields"] == ["email"]
    assert admin.post(path, {"email": cast.member.email})[0] == 409


def test_who_leaves_a_team_loses_its_keys_at_once_and_works_elsewhere(cast: Cast) -> None:
    other = make_team()
    member_add(team=other, user=cast.member, role=TeamRole.MEMBER)
    make_api_key(user=cast.member, type="PERSONAL")
    before = RoutesVersion.objects.get_or_create(id=1)[0].version
    path = f"/v1/teams/{cast.team.id}/members/{cast.member.id}"
    assert client_of(cast.owner).delete(path)[0] == 204
    cast.member.refresh_from_db()
    assert cast.member.team == other
    assert not ApiKey.objects.filter(owner=cast.member, revoked_at=None).exists()
    assert RoutesVersion.objects.get().version > before, "gateways hear of it"
    assert client_of(cast.owner).delete(path)[0] == 404


def test_nobody_is_left_without_a_team(cast: Cast) -> None:
    status, body = client_of(cast.owner).delete(
        f"/v1/teams/{cast.team.id}/members/{cast.member.id}"
    )
    assert (status, body["message"]) == (409, "member@example.com belongs to no other team.")
    assert Membership.objects.filter(user=cast.member, team=cast.team).exists()


def test_the_last_admin_of_the_organisation_stays(cast: Cast) -> None:
    admin = client_of(cast.organisation_admin)
    path = f"/v1/users/{cast.organisation_admin.id}"
    for change in ({"is_admin": False}, {"is_active": False}):
        status, body = RestClient(
            make_api_key(user=cast.organisation_admin, type="PERSONAL")
        ).patch(path, change)
        assert (status, body["message"]) == (
            409,
            "admin@example.com is the only admin of the organisation.",
        )
    assert admin.patch(f"/v1/users/{cast.owner.id}", {"is_admin": True})[1]["is_admin"]
    assert admin.patch(path, {"is_admin": False})[0] == 200
    with pytest.raises(Conflict):
        person_set_admin(user=cast.owner, is_admin=False)


def test_who_is_deactivated_is_out_in_every_way(cast: Cast) -> None:
    browser, key = signed_in(cast.member), client_of(cast.member)
    assert browser.get("/").status_code == 200
    client_of(cast.organisation_admin).patch(f"/v1/users/{cast.member.id}", {"is_active": False})
    assert browser.get("/").status_code == 302
    assert key.get("/v1/teams")[0] == 401


def test_a_browser_of_before_is_not_signed_in_again_with_its_person(cast: Cast) -> None:
    user, browser = make_user(email="back@example.com", password=PASSWORD, team=cast.team), Client()
    browser.post("/sign-in/", {"email": user.email, "password": PASSWORD})
    assert browser.get("/account/").status_code == 200
    for is_active in (False, True):
        assert person_change(cast, user, is_active=is_active) == 200
    assert browser.get("/account/").status_code == 302
    assert not user.browser_sessions.exists()


def person_change(cast: Cast, user: User, **change: bool) -> int:
    admin = client_of(cast.organisation_admin)
    status: int = admin.patch(f"/v1/users/{user.id}", change)[0]
    return status


def test_people_of_the_organisation_are_an_admins_to_see(cast: Cast) -> None:
    for user in (cast.owner, cast.member, cast.outsider):
        assert client_of(user).get("/v1/users")[0] == 403
    listed = client_of(cast.organisation_admin).get("/v1/users")[1]["users"]
    assert {each["email"] for each in listed} == {user.email for user in User.objects.all()}


def test_teams_are_made_renamed_entered_and_deleted_when_empty(cast: Cast) -> None:
    admin = client_of(cast.organisation_admin)
    status, made = admin.post("/v1/teams", {"name": "  research   team "})
    assert (status, made["name"]) == (201, "research team")
    assert admin.post("/v1/teams", {"name": "research team"})[0] == 409
    assert admin.patch(f"/v1/teams/{made['id']}", {"name": "research"})[1]["name"] == "research"
    team = Team.objects.get(id=made["id"])
    browser = signed_in(cast.organisation_admin)
    assert browser.post(f"/teams/{team.id}/enter/").status_code == 302
    config = make_config(team=team)
    status, body = admin.delete(f"/v1/teams/{team.id}")
    assert (status, body["message"]) == (409, "The team `research` still has 1 configs.")
    config.delete()
    assert admin.delete(f"/v1/teams/{team.id}")[0] == 204
    cast.organisation_admin.refresh_from_db()
    assert cast.organisation_admin.team.name == "headquarters"
    assert client_of(cast.owner).post("/v1/teams", {"name": "mine"})[0] == 403


def test_a_restricted_environment_is_changed_by_admins_and_those_named(cast: Cast) -> None:
    named = make_user(team=cast.team)
    environment_restrict(team=cast.team, name="production", people=[named.id])
    for user, may in ((cast.owner, True), (named, True), (cast.member, False)):
        actor = Actor(team=cast.team, user=user)
        assert allowed(actor, Action.WRITE, environment="production") is may
        assert allowed(actor, Action.WRITE, environment="staging")
        assert allowed(actor, Action.READ)


def test_restrictions_are_made_changed_and_released_over_rest(cast: Cast) -> None:
    path = f"/v1/teams/{cast.team.id}/restricted_environments"
    admin = client_of(cast.owner)
    assert admin.post(path, {"name": "production"})[0] == 201
    assert admin.post(path, {"name": "production"})[0] == 409
    unknown = admin.post(path, {"name": "prodution"})
    assert (unknown[0], unknown[1]["fields"]) == (400, ["name"])
    assert "has an environment `prodution`" in unknown[1]["message"]
    people = {"user_ids": [cast.member.id]}
    changed = admin.patch(f"{path}/production", people)[1]
    assert [each["email"] for each in changed["people"]] == [cast.member.email]
    stranger = admin.patch(f"{path}/production", {"user_ids": [cast.outsider.id]})
    assert (stranger[0], stranger[1]["fields"]) == (400, ["user_ids"])
    assert client_of(cast.member).get(path)[0] == 200
    assert client_of(cast.member).delete(f"{path}/production")[0] == 403
    assert admin.delete(f"{path}/production")[0] == 204


def test_the_page_of_people_shows_members_what_they_may_change(cast: Cast) -> None:
    as_owner = signed_in(cast.owner).get("/people/").content.decode()
    as_member = signed_in(cast.member).get("/people/").content.decode()
    assert "Invite someone" in as_owner
    assert "Invite someone" not in as_member
    assert "member@example.com" in as_member
    assert "outsider@example.com" not in as_owner + as_member
    assert "All users" in signed_in(cast.organisation_admin).get("/people/").content.decode()


def test_pages_refuse_what_rest_refuses(cast: Cast) -> None:
    member = signed_in(cast.member)
    for path in (
        "/people/invite/",
        f"/people/{cast.owner.id}/role/",
        f"/people/{cast.owner.id}/remove/",
        f"/people/{cast.owner.id}/status/",
        "/people/restrict/",
        "/teams/create/",
    ):
        assert member.post(path).status_code == 403, path
    assert signed_in(cast.outsider).post(f"/teams/{cast.team.id}/enter/").status_code == 404
    removed = signed_in(cast.owner).post(f"/people/{cast.outsider.id}/remove/", {"name": "x"})
    assert removed.status_code == 404


def test_a_removal_needs_the_address_typed(cast: Cast) -> None:
    member_add(team=make_team(), user=cast.member, role=TeamRole.MEMBER)
    owner, path = signed_in(cast.owner), f"/people/{cast.member.id}/remove/"
    owner.post(path, {"name": "somebody else"})
    assert Membership.objects.filter(user=cast.member, team=cast.team).exists()
    owner.post(path, {"name": cast.member.email})
    assert not Membership.objects.filter(user=cast.member, team=cast.team).exists()
