"""Who there is: teams, people, their sign-in links, their API keys, and the routes version."""

from apps.accounts.models.keys import ApiKey, ApiKeyType
from apps.accounts.models.people import BrowserSession, SignInLink, User, UserManager
from apps.accounts.models.routes import RoutesVersion
from apps.accounts.models.teams import (
    Invitation,
    Membership,
    RestrictedEnvironment,
    Team,
    TeamRole,
)

__all__ = [
    "ApiKey",
    "ApiKeyType",
    "BrowserSession",
    "Invitation",
    "Membership",
    "RestrictedEnvironment",
    "RoutesVersion",
    "SignInLink",
    "Team",
    "TeamRole",
    "User",
    "UserManager",
]
