"""What every REST view of a team's things stands on."""

from collections.abc import Mapping
from typing import Any, ClassVar

from rest_framework.views import APIView

from apps.accounts.models import Team, User
from apps.accounts.permissions import Action, Actor, actor_of
from apps.rest.errors import NotFound


class TeamView(APIView):
    """A view within the caller's team; `actions` names what each method needs beyond the usual."""

    actions: ClassVar[Mapping[str, Action]] = {}

    @property
    def actor(self) -> Actor:
        """Who is calling."""
        return actor_of(self.request)

    @property
    def team(self) -> Team:
        """The caller's team, which a path may name but not change. Raises NotFound."""
        team = self.actor.team
        if self.kwargs.get("team_id", team.id) != team.id:
            raise NotFound(f"There is no team `{self.kwargs['team_id']}`.")
        return team

    @property
    def user(self) -> User | None:
        """The person behind the call; None for a team's key."""
        return self.actor.user

    def query(self, **more: Any) -> dict[str, Any]:
        """Return the query parameters as plain text."""
        return self.request.query_params.dict() | more
