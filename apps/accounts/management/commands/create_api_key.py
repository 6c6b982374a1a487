from typing import Any

from django.core.management.base import CommandError, CommandParser

from apps.accounts.commands import AuditedCommand
from apps.accounts.keys.services import api_key_create
from apps.accounts.models import ApiKeyType, Team
from apps.accounts.services.bootstrap import admin_ensure

TEAM_TYPES = tuple(each.value for each in ApiKeyType if each is not ApiKeyType.PERSONAL)


class Command(AuditedCommand):
    help = "Make an API key of a team and print it; it is shown this once."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", help="What to know the key by.")
        parser.add_argument("--team", help="Name of the team; the default team without it.")
        parser.add_argument(
            "--type", choices=TEAM_TYPES, default=ApiKeyType.WORKSPACE_MANAGE_ALL.value
        )

    def handle(self, *args: Any, name: str, team: str | None, type: str, **options: Any) -> None:
        made = api_key_create(team=_team(team), type=ApiKeyType(type), name=name)
        self.stdout.write(made.text)


def _team(name: str | None) -> Team:
    if name is None:
        return admin_ensure().team
    team = Team.objects.filter(name=name).first()
    if team is None:
        raise CommandError(f"There is no team `{name}`.")
    return team
