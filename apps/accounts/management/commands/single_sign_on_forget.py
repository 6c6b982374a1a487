"""Lets the next account of the provider with someone's address come in as them."""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from apps.accounts.commands import AuditedCommand
from apps.accounts.people.addresses import single_sign_on_forget
from apps.accounts.selectors import person_by_email


class Command(AuditedCommand):
    help = "Forget which account of the provider a person came in with: the next one joins."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("email", help="Whose account of the provider is another one now.")

    def handle(self, *args: Any, email: str, **options: Any) -> None:
        user = person_by_email(email).first()
        if user is None:
            raise CommandError(f"There is no person with the e-mail address `{email}`.")
        forgotten = single_sign_on_forget(user=user)
        self.stdout.write(f"{forgotten} accounts of the provider are forgotten for {user.email}.")
