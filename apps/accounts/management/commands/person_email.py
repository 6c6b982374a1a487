from typing import Any

from django.core.management.base import CommandError, CommandParser

from apps.accounts.commands import AuditedCommand
from apps.accounts.models import User
from apps.accounts.people.addresses import person_set_email
from apps.accounts.selectors import person_by_email
from apps.rest.errors import ApiError


class Command(AuditedCommand):
    help = "Give a person another e-mail address; password, keys and teams stay."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("old", help="The address as it is written, letter for letter.")
        parser.add_argument("new", help="The address from now on.")

    def handle(self, *args: Any, old: str, new: str, **options: Any) -> None:
        # As it is written first: a migration names people whose addresses fold into one.
        user = User.objects.filter(email=old).first() or person_by_email(old).first()
        if user is None:
            raise CommandError(f"There is no person with the e-mail address `{old}`.")
        try:
            person_set_email(user=user, email=new)
        except ApiError as error:
            raise CommandError(f"{error.message} {error.hint or ''}".strip()) from None
        self.stdout.write(f"{old} is {new} now.")
