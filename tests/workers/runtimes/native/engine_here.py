"""An engine of generation in threads of this process, for tests of what it answers to whom.

A process of its own takes seconds to load torch, which is here already. The life of that process
is tested with `EngineServer`.
"""

from collections.abc import Sequence
from pathlib import Path
from threading import Thread
from typing import Self

import httpx
import uvicorn
from openai import OpenAI

from controlplane.processes import ports
from tests.waiting import DEADLINE_SECONDS, wait_for
from tests.workers.runtimes.native.server import EngineServer, engine_command
from workers.runtimes.native.command_line import parse

_PROGRAM_WORDS = 3
"""Of the command, before its options: Python, `-m`, the module."""


class EngineHere(EngineServer):
    """The same settings and the same app as in a process, ready when the block begins."""

    def __init__(self, folder: Path, *, options: Sequence[str] = ()) -> None:
        self._arguments = engine_command(folder, options)[_PROGRAM_WORDS:]

    def __enter__(self) -> Self:
        # Imports of torch, for whoever only collects this file.
        from workers.engine.engine import Engine
        from workers.engine.server.app import create_app

        _, settings = parse(self._arguments)
        self._engine = Engine(settings)
        self._engine.start()
        self._reserved = ports.reserved()
        self.port = ports.port_of(self._reserved)
        config = uvicorn.Config(
            create_app(self._engine), port=self.port, log_config=None, access_log=False,
            lifespan="off", ws="none",
        )  # fmt: skip
        self._web = uvicorn.Server(config)
        self._thread = Thread(target=self._web.run)
        self._thread.start()
        try:
            wait_for(self.listens, what="the engine to listen")
        except BaseException:
            self._end()
            raise
        self.http = httpx.Client(base_url=self.url, timeout=DEADLINE_SECONDS)
        self.openai = OpenAI(base_url=f"{self.url}/v1", api_key="none", max_retries=0)
        return self

    def _end(self) -> None:
        self._web.should_exit = True
        self._thread.join(DEADLINE_SECONDS)
        self._engine.stop()
        self._reserved.close()
