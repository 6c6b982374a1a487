"""The first start: a default team, one admin, and a way in."""

from dataclasses import dataclass

from django.db import connection, transaction

from apps.accounts.models import Membership, Team, TeamRole, User
from apps.accounts.signing_in.links import sign_in_link_create

ADMIN_EMAIL = "admin@localhost"
_LOCK = 4_702_111_001


@dataclass(frozen=True, kw_only=True)
class Bootstrap:
    """The default team, its first admin, and a one-time sign-in token where one was made."""

    team: Team
    admin: User
    sign_in_token: str | None


def admin_bootstrap() -> Bootstrap:
    """Return the default team and an admin, with a sign-in token until someone has signed in.

    A first start whose output was lost must not lock everybody out.
    """
    admin = admin_ensure()
    seen = User.objects.exclude(last_login=None).exists()
    token = None if seen else sign_in_link_create(user=admin)
    return Bootstrap(team=admin.team, admin=admin, sign_in_token=token)


def admin_ensure() -> User:
    """Return the first admin, made with the default team if there was nobody.

    Two processes that start at once make one.
    """
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])
        team, _ = Team.objects.get_or_create(is_default=True, defaults={"name": "default"})
        admins = User.objects.filter(is_admin=True, is_active=True).select_related("team")
        return admins.order_by("created_at").first() or _admin(team)


def _admin(team: Team) -> User:
    admin = User(email=ADMIN_EMAIL, name="Admin", team=team, is_admin=True)
    admin.set_unusable_password()
    admin.save()
    Membership.objects.create(user=admin, team=team, role=TeamRole.ADMIN)
    return admin
