"""Who may do what: one function that every REST view, page and task asks.

Source: baseten.md section 8 (roles and permissions), read 2026-11-27. An admin is what the hosted
product calls an organisation admin; a full team key acts like an admin of its team, a personal key
like its owner.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar

from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from apps.accounts.models import ApiKey, ApiKeyType, Team, User
from apps.rest.errors import NotAllowed, Unauthenticated

if TYPE_CHECKING:
    # The framework reads this module while it makes APIView.
    from rest_framework.views import APIView


class Action(StrEnum):
    READ = "read"
    """See what the team has, secrets and keys by name only."""
    WRITE = "write"
    """Change configs and secrets, build, deploy, promote."""
    OWN_KEYS = "own_keys"
    """Make and revoke personal keys."""
    TEAM_KEYS = "team_keys"
    """Make and revoke the team's keys."""
    FLEET = "fleet"
    """Cordon nodes, drain them, assign cards."""


_MEMBER = frozenset({Action.READ, Action.WRITE, Action.OWN_KEYS})
_ADMIN = frozenset(Action)
_TEAM_KEY = _ADMIN - {Action.OWN_KEYS, Action.FLEET}
_WORDS: Mapping[Action, str] = {
    Action.READ: "read what the team has",
    Action.WRITE: "change what the team has",
    Action.OWN_KEYS: "make or revoke personal keys",
    Action.TEAM_KEYS: "make or revoke team keys",
    Action.FLEET: "manage nodes and cards",
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


def allowed(actor: Actor, action: Action) -> bool:
    """Return whether the actor may do that within the own team; other teams do not exist to it."""
    key = actor.api_key
    if key is not None and key.type != ApiKeyType.PERSONAL:
        return key.type == ApiKeyType.WORKSPACE_MANAGE_ALL and action in _TEAM_KEY
    if actor.user is None:
        return False
    return action in (_ADMIN if actor.user.is_admin else _MEMBER)


def require(actor: Actor, action: Action) -> None:
    """Return if the actor may do that. Raises NotAllowed with what would help."""
    if allowed(actor, action):
        return
    key = actor.api_key
    if key is not None and key.type != ApiKeyType.PERSONAL:
        raise NotAllowed(
            f"The key `{key.prefix}` of type `{key.type}` may not {_WORDS[action]}.",
            hint="Use a personal key or a team key of type `WORKSPACE_MANAGE_ALL`.",
        )
    raise NotAllowed(f"You may not {_WORDS[action]}.", hint="Ask an admin of your team.")


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
        """Return True. Raises Unauthenticated or NotAllowed."""
        method = str(request.method)
        actions: Mapping[str, Any] = getattr(view, "actions", {})
        action = actions.get(method) or self.default_actions.get(method, Action.WRITE)
        require(actor_of(request), action)
        return True
