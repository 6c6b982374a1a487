"""Pools as people see them: other teams are named only to those who may see them."""

from collections.abc import Sequence
from dataclasses import dataclass

from apps.accounts.models import Team
from apps.accounts.permissions import Actor
from apps.accounts.selectors import team_list
from apps.fleet.models import PoolTeam
from apps.fleet.selectors import pool_names


@dataclass(frozen=True, kw_only=True)
class PoolView:
    name: str
    teams: Sequence[Team]
    """Of those that the reader may see."""
    serves_all: bool


def pool_views(actor: Actor) -> list[PoolView]:
    rows = list(PoolTeam.objects.select_related("team").order_by("team__name"))
    seen = {team.id for team in team_list(actor)} | {actor.team.id}
    return [
        PoolView(
            name=name,
            teams=[row.team for row in rows if row.pool == name and row.team_id in seen],
            serves_all=all(row.pool != name for row in rows),
        )
        for name in pool_names()
    ]
