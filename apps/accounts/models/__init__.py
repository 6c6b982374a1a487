"""Who there is, what they hold and what they changed: teams, people, keys, the audit trail."""

from apps.accounts.models.audit import AuditEntry
from apps.accounts.models.authenticators import Authenticator
from apps.accounts.models.keys import ApiKey, ApiKeyType
from apps.accounts.models.people import (
    BrowserSession,
    SignInLink,
    SingleSignOn,
    User,
    UserManager,
)
from apps.accounts.models.routes import RoutesChange, RoutesVersion
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
    "AuditEntry",
    "Authenticator",
    "BrowserSession",
    "Invitation",
    "Membership",
    "RestrictedEnvironment",
    "RoutesChange",
    "RoutesVersion",
    "SignInLink",
    "SingleSignOn",
    "Team",
    "TeamRole",
    "User",
    "UserManager",
]
