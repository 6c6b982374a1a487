"""`python -m workers.gateway`: one process, or with `GATEWAY_PROCESSES` a group of them."""

import asyncio
import logging
import os
import sys

import uvloop

from controlplane.process_settings.wrong import WrongSetting
from workers.gateway.process import (
    BACKLOG,
    Process,
    exporter_of,
    hold_data_directory,
    raise_open_file_limit,
)
from workers.gateway.process_group import ProcessGroup
from workers.gateway.settings import Settings, listening_socket, metrics_socket, read_settings
from workers.gateway.storage import Storage
from workers.watchdog import Watchdog


def main() -> int:
    """Return the exit code: 0 after a drain, 1 for a wrong setting; 70 is the watchdog's."""
    try:
        settings = read_settings(sys.argv[1:], os.environ)
        _set_up_logging(settings.log_level)
        if settings.leads:
            return _lead(settings)
        storage = Storage(settings.data_dir)
        hold_data_directory(storage.lock_file)
        sockets = [listening_socket(settings)]
        if (own := metrics_socket(settings)) is not None:
            sockets.append(own)
        spans = exporter_of(settings)
    except WrongSetting as error:
        sys.stderr.write(f"gateway: {error}\n")
        return 1
    raise_open_file_limit()

    async def run() -> None:
        process = Process(settings, storage, spans=spans)
        process.stop_at_signals()
        Watchdog().start_on(asyncio.get_running_loop())
        await process.serve(*sockets)

    uvloop.run(run())
    return 0


def _lead(settings: Settings) -> int:
    """Return the exit code of a group of processes."""
    listener = listening_socket(settings)
    listener.listen(BACKLOG)
    listener.setblocking(False)

    async def run() -> None:
        group = ProcessGroup(settings, listener, sys.argv[1:])
        group.obey_signals()
        await group.run()

    asyncio.run(run())
    return 0


def _set_up_logging(level: str) -> None:
    logging.basicConfig(level=level, format="%(asctime)s %(levelname)s %(name)s %(message)s")


if __name__ == "__main__":
    sys.exit(main())
