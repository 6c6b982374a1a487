"""The life of an engine process: bind, load, listen, drain."""

import gc
import json
import logging
import os
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import uvicorn
from starlette.applications import Starlette

from controlplane.clock import SYSTEM, Clock
from controlplane.collecting import without_collecting
from workers.engine.checkpoint_folder import read_config
from workers.engine.errors import CheckpointRefused
from workers.engine.server.front.exchange import Handler
from workers.engine.server.front.server import Front
from workers.engine.settings import EngineSettings
from workers.engine.task import Task, read_task
from workers.imports import import_transformers
from workers.runtimes.native.command_line import Address

log = logging.getLogger(__name__)

ServeHttp = Callable[[Any, socket.socket], None]
"""Serves an engine on a socket until it is to end."""

KEEP_ALIVE_SECONDS = 60
"""Longer than the gateway keeps an idle connection, so that it is never closed under a request."""

EXIT_REFUSED = 2
"""Address or checkpoint cannot be used; the last line of the log says why."""

LOST_SECONDS = 5
"""For what is to be said to those whose answers nobody makes any more."""

SWITCH_SECONDS = 2e-5
"""After which a thread that waits for Python's lock gets it. The model thread takes the lock anew
after each call of torch: with Python's own 5 ms, a GPU would stand still meanwhile."""

_MOST_TOKENIZING = 8
"""Threads that turn texts into tokens: one makes fewer than a GPU reads."""

_TURNS_BEFORE_SLEEP = "2000"
"""How long a thread waits awake for the others: tens of microseconds."""

EXIT_LOST = 3
"""The model thread has ended by itself, as it does when its GPU fails; the log says why."""


def serve(address: Address, settings: EngineSettings) -> int:
    """Serve until SIGTERM, then finish what was begun; give back the exit status."""
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s", stream=sys.stderr)
    try:
        listener = _bind(address)
    except OSError as error:
        log.error("cannot listen on %s:%d: %s", address.host, address.port, error.strerror)
        return EXIT_REFUSED
    return _serve_on(listener, settings)


def _serve_on(listener: socket.socket, settings: EngineSettings, *, clock: Clock = SYSTEM) -> int:
    started = clock.monotonic()
    set_up_threads(settings.threads, device=settings.device)
    try:
        engine, serve_http = _load(settings, clock)
    except CheckpointRefused as error:
        log.error("checkpoint refused: %s", error)
        return EXIT_REFUSED
    engine.start()
    host, port = listener.getsockname()[:2]
    log.info("ready on http://%s:%d after %.1f s", host, port, clock.monotonic() - started)
    log.info("allocated: %s", json.dumps(engine.report()))
    serve_http(engine, listener)
    is_lost = not engine.is_alive
    engine.stop()
    log.info("drained")
    return EXIT_LOST if is_lost else 0


def set_up_threads(count: int, *, device: str = "cpu") -> None:
    """Set what torch and tokenizers read when they are loaded.

    All requests share the tokenizers' threads. Beside a GPU the cores have nothing else to do, and
    one thread would bound what it is given.
    """
    cores = len(os.sched_getaffinity(0))
    tokenizing = count if device == "cpu" else max(count, min(_MOST_TOKENIZING, cores))
    for pool, threads in (("OMP_NUM_THREADS", count), ("RAYON_NUM_THREADS", tokenizing)):
        os.environ.setdefault(pool, str(threads))
    # OpenMP's own patience, many milliseconds, takes from the thread that is waited for the core
    # that it needs: beside other work, an answer took twenty times as long.
    os.environ.setdefault("GOMP_SPINCOUNT", _TURNS_BEFORE_SLEEP)


def _load(settings: EngineSettings, clock: Clock) -> tuple[Any, ServeHttp]:
    with without_collecting():
        engine, serve_http = _imported(pools=does_pool(settings))
    return engine(settings, clock=clock), serve_http


def does_pool(settings: EngineSettings) -> bool:
    """Whether vectors and scores are served: as it was told, else as the checkpoint says."""
    if settings.pools is not None:
        return settings.pools
    if settings.rerank_template is not None:  # a language model is asked to rank
        return True
    return read_task(settings.model_dir, read_config(settings.model_dir)) is not Task.GENERATE


def _imported(*, pools: bool) -> tuple[Any, ServeHttp]:
    # torch is loaded here and not before: a taken port or a wrong argument answers at once.
    import_transformers(spreads_over_devices=False)
    from workers.runtimes.native.tracing import spans_of

    spans = spans_of(os.environ)
    if pools:
        from workers.engine.pooling.engine import PoolingEngine
        from workers.engine.server.front.traced import Traced
        from workers.engine.server.pooling.app import create_handler

        if spans is None:
            return PoolingEngine, partial(_serve_front, create_handler)
        return PoolingEngine, partial(
            _serve_front, lambda engine: Traced(create_handler(engine), spans)
        )
    from workers.engine.engine import Engine
    from workers.engine.server.app import create_app
    from workers.engine.server.spans import Traces

    traces = None if spans is None else Traces(spans)
    return Engine, partial(_serve_app, partial(create_app, traces=traces))


def _serve_front(
    create_handler: Callable[[Any], Handler], engine: Any, listener: socket.socket
) -> None:
    sys.setswitchinterval(SWITCH_SECONDS)
    gc.collect()
    gc.freeze()  # what is there now stays: nobody is to wait while it is looked through
    front = Front(
        lambda: create_handler(engine), lambda: engine.is_alive,
        keep_alive_seconds=KEEP_ALIVE_SECONDS, lost_seconds=LOST_SECONDS,
    )  # fmt: skip
    front.run(listener)


def _serve_app(
    create_app: Callable[[Any], Starlette], engine: Any, listener: socket.socket
) -> None:
    _DrainingServer(_uvicorn_config(create_app(engine)), engine).run(sockets=[listener])


def _uvicorn_config(app: Starlette) -> uvicorn.Config:
    return uvicorn.Config(
        app, log_config=None, access_log=False, lifespan="off", ws="none",
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
    )  # fmt: skip


class _DrainingServer(uvicorn.Server):
    """Ends after a drain with a status of ours; uvicorn would die of the signal it handled."""

    def __init__(self, config: uvicorn.Config, engine: Any) -> None:
        super().__init__(config)
        self._engine = engine

    async def on_tick(self, counter: int) -> bool:
        """Return whether to stop: asked to, or nothing is left that answers."""
        if not self._engine.is_alive:
            self.config.timeout_graceful_shutdown = LOST_SECONDS
            return True
        return await super().on_tick(counter)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self.handle_exit)
        yield


def _bind(address: Address) -> socket.socket:
    """Take the port without listening: nobody can connect before the model is loaded."""
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((address.host, address.port))
    except OSError:
        listener.close()
        raise
    return listener
