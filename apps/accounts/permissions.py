"""Who may do what: one function that every REST view, page and task asks.

Source: baseten.md section 8 (roles and permissions), read 2026-11-28. What is not in its table,
nodes and GPUs, is an organisation admin's, since they serve every team.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from apps.accounts.models import ApiKey, ApiKeyType, Membership, RestrictedEnvironment, Team, User
from apps.rest.errors import NotAllowed, Unauthenticated

if TYPE_CHECKING:
    # The framework reads this module while it makes APIView.
    from rest_framework.views import APIView


class Role(StrEnum):
    """What someone is to the team that they work in."""

    ORGANISATION_ADMIN = "organisation_admin"
    """Implicitly an admin of every team."""
    ORGANISATION_MEMBER = "organisation_member"
    """Belongs to other teams only: this one does not exist to them."""
    TEAM_ADMIN = "admin"
    TEAM_MEMBER = "member"
    TEAM_KEY = "team_key"
    """A key of the team that may do all that the team may."""
    LIMITED_KEY = "limited_key"
    """A key that only calls models, or only reads metrics."""


class Action(StrEnum):
    READ = "read"
    """See what the team has, secrets and keys by name only."""
    WRITE = "write"
    """Change configs and secrets, build, deploy, promote."""
    OWN_KEYS = "own_keys"
    """Make and revoke personal keys."""
    TEAM_KEYS = "team_keys"
    """Make and revoke the team's keys."""
    TEAM_MEMBERS = "team_members"
    """Invite people to the team, change their role in it, take them out."""
    RESTRICT = "restrict"
    """Restrict environments to some of the team."""
    SAMPLE_TRAFFIC = "sample_traffic"
    """Let gateways keep outlines of the team's answers."""
    AUDIT = "audit"
    """Read the audit trail."""
    TEAMS = "teams"
    """Make, rename and delete teams; see all of them."""
    PEOPLE = "people"
    """Make organisation admins, deactivate people."""
    LABEL = "label"
    """Label nodes."""
    PRICE = "price"
    """Say what an hour of a GPU costs."""
    DRAIN = "drain"
    """Drain nodes."""
    CORDON = "cordon"
    """Cordon nodes."""
    REMOVE_NODES = "remove_nodes"
    """Take nodes out, with what they hold."""
    ASSIGN_DEVICES = "assign_devices"
    """Assign GPUs to teams."""
    SETTINGS = "settings"
    """See what the installation runs with."""
    REMOTE_CODE = "remote_code"
    """Let a repository run its own code, at one commit."""


_MEMBER = frozenset({Action.READ, Action.WRITE, Action.OWN_KEYS})
_TEAM_ADMIN = _MEMBER | {
    Action.TEAM_KEYS, Action.TEAM_MEMBERS, Action.RESTRICT, Action.SAMPLE_TRAFFIC, Action.AUDIT,
}  # fmt: skip

MATRIX: Mapping[Role, frozenset[Action]] = {
    Role.ORGANISATION_ADMIN: frozenset(Action),
    Role.ORGANISATION_MEMBER: frozenset(),
    Role.TEAM_ADMIN: _TEAM_ADMIN,
    Role.TEAM_MEMBER: _MEMBER,
    Role.TEAM_KEY: _TEAM_ADMIN - {Action.OWN_KEYS},
    Role.LIMITED_KEY: frozenset(),
}
"""What each role may do within the team; another team's things do not exist to anybody."""

_WORDS: Mapping[Action, str] = {
    Action.READ: "read what the team has",
    Action.WRITE: "change what the team has",
    Action.OWN_KEYS: "make or revoke personal keys",
    Action.TEAM_KEYS: "make or revoke team keys",
    Action.TEAM_MEMBERS: "change who belongs to the team",
    Action.RESTRICT: "restrict environments",
    Action.SAMPLE_TRAFFIC: "consent to sampling the team's traffic, or take that back",
    Action.AUDIT: "read the audit trail",
    Action.TEAMS: "make, rename or delete teams",
    Action.PEOPLE: "make organisation admins or deactivate people",
    Action.LABEL: "label nodes",
    Action.PRICE: "set prices",
    Action.DRAIN: "drain nodes",
    Action.CORDON: "cordon nodes",
    Action.REMOVE_NODES: "remove nodes",
    Action.ASSIGN_DEVICES: "assign GPUs to teams",
    Action.SETTINGS: "see what the installation runs with",
    Action.REMOTE_CODE: "let a repository run its own code",
}


@dataclass(frozen=True, kw_only=True)
class Actor:
    """On whose behalf a request runs: a person, a key, or a person's key."""

    team: Team
    user: User | None = None
    api_key: ApiKey | None = None

    @property
    def is_authenticated(self) -> bool:
        return True

    @cached_property
    def role(self) -> Role:
        key = self.api_key
        if key is not None and key.type != ApiKeyType.PERSONAL:
            is_full = key.type == ApiKeyType.WORKSPACE_MANAGE_ALL
            return Role.TEAM_KEY if is_full else Role.LIMITED_KEY
        if self.user is None:
            return Role.LIMITED_KEY
        return Role.ORGANISATION_ADMIN if self.user.is_admin else self._role_in_team()

    def _role_in_team(self) -> Role:
        subject: Any = self.api_key or self.user
        if subject.team_id != self.team.id or not hasattr(subject, "role_in_team"):
            membership = Membership.objects.filter(team=self.team, user=self.user).first()
            return Role(membership.role) if membership else Role.ORGANISATION_MEMBER
        return Role(subject.role_in_team or Role.ORGANISATION_MEMBER)


def allowed(actor: Actor, action: Action, *, environment: str | None = None) -> bool:
    """Return whether the actor may do that within the team, to that environment where one is named.

    Other teams do not exist to it.
    """
    if action not in MATRIX[actor.role]:
        return False
    return environment is None or not _is_closed(actor, environment)


def require(actor: Actor, action: Action, *, environment: str | None = None) -> None:
    """Return if the actor may do that. Raises NotAllowed with what would help."""
    if action not in MATRIX[actor.role]:
        raise _refusal(actor, action)
    if environment is not None and _is_closed(actor, environment):
        raise NotAllowed(
            f"The environment `{environment}` is restricted, and you are not among those who may "
            "change it.",
            code="environment_restricted",
            hint="You can still view and call it. Ask an admin of your team for access.",
        )


def actor_of(request: Request) -> Actor:
    """Return who is calling a REST view. Raises Unauthenticated."""
    if isinstance(request.user, Actor):
        return request.user
    if isinstance(request.user, User):
        return Actor(team=request.user.team, user=request.user)
    raise Unauthenticated("This needs an API key.", hint="Send `Authorization: Bearer <API key>`.")


class IsTeamMember(BasePermission):
    """Asks `allowed`: reading needs READ, the rest WRITE, unless the view's `actions` say more."""

    default_actions: ClassVar[Mapping[str, Action]] = {
        "GET": Action.READ,
        "HEAD": Action.READ,
        "OPTIONS": Action.READ,
    }

    def has_permission(self, request: Request, view: "APIView") -> bool:
        method = str(request.method)
        actions: Mapping[str, Any] = getattr(view, "actions", {})
        action = actions.get(method) or self.default_actions.get(method, Action.WRITE)
        require(self._actor(request, view), action)
        return True

    def _actor(self, request: Request, view: "APIView") -> Actor:
        actor = actor_of(request)
        can_matter = MATRIX[actor.role] and str(request.method) in view.allowed_methods
        return getattr(view, "actor", actor) if can_matter else actor


def _is_closed(actor: Actor, environment: str) -> bool:
    if Action.RESTRICT in MATRIX[actor.role]:
        return False
    restricted = RestrictedEnvironment.objects.filter(team=actor.team, name=environment)
    return restricted.exclude(people=actor.user).exists()


def _refusal(actor: Actor, action: Action) -> NotAllowed:
    key = actor.api_key
    if key is not None and actor.role in (Role.TEAM_KEY, Role.LIMITED_KEY):
        return NotAllowed(
            f"The key `{key.prefix}` of type `{key.type}` may not {_WORDS[action]}.",
            hint=_other_key(action),
        )
    admin_of = "your team" if action in _TEAM_ADMIN else "the organisation"
    return NotAllowed(f"You may not {_WORDS[action]}.", hint=f"Ask an admin of {admin_of}.")


def _other_key(action: Action) -> str:
    if action not in _TEAM_ADMIN:
        return "Use a personal key of an admin of the organisation."
    whose = "a personal key" if action in _MEMBER else "a personal key of an admin of the team"
    team_key = action in MATRIX[Role.TEAM_KEY]
    return f"Use {whose}" + (" or a team key of type `WORKSPACE_MANAGE_ALL`." if team_key else ".")
