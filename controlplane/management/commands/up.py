"""`manage.py up`: all of Enginehouse on this machine, until a signal."""

import asyncio
import contextlib
import os
import signal
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from controlplane.process_settings.control_plane import UpSettings
from controlplane.process_settings.wrong import WrongSetting
from controlplane.processes.machine import Machine, Plan, StartFailed
from controlplane.processes.single import AlreadyRunning, hold_data_dir
from controlplane.processes.static_files import collect_static_files

_NAME_WIDTH = 9


class Command(BaseCommand):
    help = (
        "Start and supervise every process of Enginehouse on this machine. PostgreSQL and Valkey "
        "are embedded unless DATABASE_URL and BROKER_URL name servers elsewhere."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--stop-engines",
            action="store_true",
            help="stop serving engines too; otherwise they go on and the next start adopts them",
        )

    def handle(self, *args: Any, stop_engines: bool, **options: Any) -> None:
        try:
            with hold_data_dir(settings.DATA_DIR):
                collect_static_files()
                asyncio.run(self._run(_plan(stop_engines=stop_engines)))
        except (AlreadyRunning, StartFailed, WrongSetting) as error:
            raise CommandError(str(error)) from None

    async def _run(self, plan: Plan) -> None:
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        for each in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(each, stop.set)
        machine = Machine(plan=plan, say=self._say)
        running = asyncio.create_task(machine.run(stop))
        waiting = asyncio.create_task(stop.wait())
        # A signal in the middle of the start ends the start.
        await asyncio.wait({running, waiting}, return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        if stop.is_set() and not machine.is_ready:
            running.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await running

    def _say(self, name: str, line: str) -> None:
        self.stdout.write(f"{name:<{_NAME_WIDTH}} | {line}")
        self.stdout.flush()


def _plan(*, stop_engines: bool) -> Plan:
    # Read again: settings fall back on the note of a machine that ran before this one.
    given = UpSettings.read(os.environ)
    return Plan(
        data_dir=settings.DATA_DIR,
        database_url=given.database_url,
        broker_url=given.broker_url,
        public_url=given.public_url,
        gateway_url=given.gateway_url,
        host=given.host,
        web_port=given.web_port,
        gateway_port=given.gateway_port,
        gateway_processes=given.gateway_processes,
        build_pool=settings.BUILD_POOL,
        stop_engines=stop_engines,
    )
