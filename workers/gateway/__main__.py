"""`python -m workers.gateway`"""

import asyncio
import logging
import os
import sys

import uvloop

from controlplane.process_settings.wrong import WrongSetting
from workers.gateway.process import Process, exporter_of, hold_data_directory, raise_open_file_limit
from workers.gateway.settings import listening_socket, read_settings
from workers.gateway.storage import Storage
from workers.watchdog import Watchdog


def main() -> int:
    """Return the exit code: 0 after a drain, 1 for a wrong setting; 70 is the watchdog's."""
    try:
        settings = read_settings(sys.argv[1:], os.environ)
        _set_up_logging(settings.log_level)
        storage = Storage(settings.data_dir)
        hold_data_directory(storage.lock_file)
        listener = listening_socket(settings)
        spans = exporter_of(settings)
    except WrongSetting as error:
        sys.stderr.write(f"gateway: {error}\n")
        return 1
    raise_open_file_limit()

    async def run() -> None:
        process = Process(settings, storage, spans=spans)
        process.stop_at_signals()
        Watchdog().start_on(asyncio.get_running_loop())
        await process.serve(listener)

    uvloop.run(run())
    return 0


def _set_up_logging(level: str) -> None:
    logging.basicConfig(level=level, format="%(asctime)s %(levelname)s %(name)s %(message)s")


if __name__ == "__main__":
    sys.exit(main())
