"""What every REST view of a team's things stands on."""

from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar

from apps.accounts.audit.recording import audit_foreign_read
from apps.accounts.models import Team, User
from apps.accounts.permissions import Action, Actor, actor_of
from apps.accounts.selectors import team_list
from apps.rest.api_view import ApiView
from apps.rest.errors import NotFound


class TeamView(ApiView):
    """A view within the caller's team; `actions` names what each method needs beyond the usual."""

    actions: ClassVar[Mapping[str, Action]] = {}

    @cached_property
    def actor(self) -> Actor:
        """Who is calling, in the team that the path names. Raises NotFound."""
        actor = actor_of(self.request)
        team_id = self.kwargs.get("team_id", actor.team.id)
        if team_id == actor.team.id:
            return actor
        team = team_list(actor).filter(id=team_id).first()
        if team is None:
            raise NotFound(f"There is no team `{team_id}`.")
        if self.request.method == "GET":
            audit_foreign_read(actor.user, team)
        return Actor(team=team, user=actor.user, api_key=actor.api_key)

    @property
    def team(self) -> Team:
        """The caller's team, or another of theirs that the path names. Raises NotFound."""
        return self.actor.team

    @property
    def user(self) -> User | None:
        """The person behind the call; None for a team's key."""
        return self.actor.user

    def query(self, **more: Any) -> dict[str, Any]:
        return self.request.query_params.dict() | more
