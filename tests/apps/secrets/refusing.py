"""Commits that fail, and a value that is written under an older key meanwhile."""

from django.db import connection

from apps.accounts.key_ring import KeyRing
from apps.accounts.models import Team
from apps.secrets.models import Secret
from apps.secrets.services.values import binding


def refuse_commits() -> None:
    """Let every transaction that changes a secret fail at its very end."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            CREATE FUNCTION refuse_commit() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN RAISE EXCEPTION 'no commit today'; END $$;
            CREATE CONSTRAINT TRIGGER refuse_commit AFTER UPDATE ON secrets_secret
            DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION refuse_commit();
            """
        )


def allow_commits() -> None:
    with connection.cursor() as cursor:
        cursor.execute("DROP FUNCTION IF EXISTS refuse_commit CASCADE")


def write_late(ring: KeyRing) -> None:
    """Store `late` for the only team, as who had loaded the ring before the rotation began."""
    team = Team.objects.filter(secrets__isnull=False).distinct().get()
    sealed = ring.seal("value of late", bound_to=binding(team.id, "late"))
    Secret.objects.update_or_create(team=team, name="late", defaults=vars(sealed))
