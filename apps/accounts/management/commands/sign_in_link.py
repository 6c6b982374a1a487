"""Prints a one-time sign-in link, and lifts the lock of someone who guessed too often."""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from apps.accounts.commands import AuditedCommand
from apps.accounts.selectors import user_by_email
from apps.accounts.services.bootstrap import admin_ensure
from apps.accounts.signing_in.links import sign_in_link_create, sign_in_link_url
from apps.accounts.signing_in.services import lock_lift


class Command(AuditedCommand):
    help = "Print a link that signs a person in once, within 24 hours."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("email", nargs="?", help="Whom to let in; the first admin by default.")

    def handle(self, *args: Any, email: str | None = None, **options: Any) -> None:
        user = user_by_email(email) if email else admin_ensure()
        if user is None:
            raise CommandError(f"There is no active person with the e-mail address `{email}`.")
        lock_lift(email=user.email)
        self.stdout.write(sign_in_link_url(sign_in_link_create(user=user)))
