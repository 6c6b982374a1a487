"""End the engines that `manage.py up` has left."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from controlplane.clock import SYSTEM, Clock
from controlplane.processes.engines_left import engines_left
from controlplane.processes.single import AlreadyRunning, hold_data_dir

_LONGEST_SECONDS = 60.0
_PAUSE_SECONDS = 0.1


class Command(BaseCommand):
    help = "End the engines that go on serving after `manage.py up` has stopped."
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            with hold_data_dir(settings.DATA_DIR):
                self._stop()
        except AlreadyRunning:
            raise CommandError(
                "Enginehouse runs here, and would start what is ended anew. Deactivate the "
                "deployments, or stop it first."
            ) from None

    def _stop(self, *, clock: Clock = SYSTEM) -> None:
        engines = engines_left(settings.DATA_DIR)
        for engine in engines:
            engine.ask_to_end()
        deadline = clock.monotonic() + _LONGEST_SECONDS
        while left := engines_left(settings.DATA_DIR):
            if clock.monotonic() > deadline:
                pids = ", ".join(str(each.pid) for each in left)
                raise CommandError(f"Still there after {_LONGEST_SECONDS:.0f} s: process {pids}.")
            clock.sleep(_PAUSE_SECONDS)
        self.stdout.write(f"{len(engines)} ended." if engines else "No engine runs here.")
