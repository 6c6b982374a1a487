from typing import Any

from django.core.management.base import CommandError

from apps.accounts.commands import AuditedCommand
from apps.accounts.key_ring import KeyRingError
from apps.rest.errors import Conflict
from apps.secrets.services.rotation import secret_rotate


class Command(AuditedCommand):
    help = (
        "Make a new key in the key ring, re-encrypt every secret with it, and take the older keys "
        "out. Secrets stay readable; interrupt it and run it again as you like."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            done = secret_rotate(on_progress=self._say)
        except (Conflict, KeyRingError) as error:
            raise CommandError(f"{error.message} {error.hint or ''}".strip()) from error
        self.stdout.write(f"{done.resealed} secrets are under the new key {done.key_id}.")
        for key_id in done.retired:
            self.stdout.write(f"The key {key_id} seals nothing any more and is out of the ring.")

        for name in done.unreadable:
            self.stderr.write(f"{name} does not open and stays as it is; store it anew.")

    def _say(self, done: int, total: int) -> None:
        self.stderr.write(f"{done} of {total} re-encrypted")
