"""The upgrade of a database with people in it, moved back and forth for real."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.core.management import call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from apps.accounts.models import Invitation, User
from apps.accounts.selectors import user_by_email

pytestmark = pytest.mark.django_db(transaction=True)
BEFORE = ("accounts", "0010_audit_trail_not_emptied")
LONG_S = "li\u017fa@example.com"


@pytest.fixture
def old_apps() -> Iterator[Any]:
    """The models of the release before; the database is brought up to date after the test."""
    executor = MigrationExecutor(connection)
    executor.migrate([BEFORE])
    yield executor.loader.project_state([BEFORE]).apps
    User.objects.filter(email=LONG_S).update(email="mended@example.com")
    migrate_to_newest()


def migrate_to_newest() -> None:
    executor = MigrationExecutor(connection)
    executor.migrate(executor.loader.graph.leaf_nodes("accounts"))


def test_people_and_invitations_keep_their_addresses_and_get_a_normal_form(old_apps: Any) -> None:
    team = old_apps.get_model("accounts", "Team").objects.create(name="team")
    people = old_apps.get_model("accounts", "User")
    people.objects.create(email="Lisa@Example.com", team=team)
    people.objects.create(email="l\u0131sa@example.com", team=team)
    old_apps.get_model("accounts", "Invitation").objects.create(
        email="New@Example.com", team=team, token_sha256="0", expires_at="2030-01-01T00:00Z"
    )
    migrate_to_newest()
    lisa = user_by_email("lisa@example.com")
    assert lisa is not None
    assert lisa.email == "Lisa@Example.com"
    assert Invitation.objects.get().normal_email == "new@example.com"


def test_a_refused_upgrade_goes_on_after_the_command_that_it_names(old_apps: Any) -> None:
    team = old_apps.get_model("accounts", "Team").objects.create(name="team")
    people = old_apps.get_model("accounts", "User")
    for email in ("lisa@example.com", LONG_S):
        people.objects.create(email=email, team=team)
    with pytest.raises(ImproperlyConfigured, match=f"person_email '{LONG_S}' NEW"):
        migrate_to_newest()
    call_command("person_email", LONG_S, "lisa.long@example.com")
    migrate_to_newest()
    assert User.objects.count() == 2
    assert user_by_email("LISA.long@example.com") is not None
