"""Puts every secret under a new key."""

from typing import Any

from django.core.management.base import BaseCommand

from apps.secrets.services import secret_rotate


class Command(BaseCommand):
    help = (
        "Make a new key in the key ring and re-encrypt every secret with it. "
        "Secrets stay readable; interrupt it and run it again as you like."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        done = secret_rotate(on_progress=lambda count: self.stderr.write(f"{count} re-encrypted"))
        self.stdout.write(f"{done.resealed} secrets are under the new key {done.key_id}.")
