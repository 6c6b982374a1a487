"""The routes that pool, past ASGI: as few turns of the event loop and of threads as can be."""

import asyncio
import os
from collections import deque
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from pydantic_core import to_json
from torch import Tensor

from workers.engine.errors import RowFailed
from workers.engine.pooling.engine import PoolingEngine
from workers.engine.server.errors import RETRY_AFTER, EngineFailed, refusal
from workers.engine.server.front.exchange import (
    JSON_TYPE,
    Answer,
    Answered,
    ClientRequest,
    Handler,
    Leave,
)
from workers.engine.server.pooling.compute import Call, Form

ENCODING_THREADS = min(8, os.cpu_count() or 1)
"""They tokenize in Rust, without Python's lock; several, so that a large request holds up none."""

MANY_NUMBERS = 1 << 16
"""An answer with so many is written beside the event loop."""

TOKENS_HEADER = b"x-compute-tokens"
"""A bare array has no room for usage, so the count goes here; the gateway meters by it."""

_RETRY_AFTER = [(name.encode(), value.encode()) for name, value in RETRY_AFTER.items()]


class _Exchange:
    def __init__(self, call: Call, answer: Answer, *, is_flat: bool) -> None:
        self.call = call
        self.answer = answer
        self.is_flat = is_flat
        self.pooled: Future[list[Tensor]] | None = None
        self.has_left = False

    def leave(self) -> None:
        self.has_left = True
        if self.pooled is not None:
            self.pooled.cancel()


class Quick:
    """Answers the routes that pool; hands every other request to the next handler.

    Texts are encoded and long answers written beside the event loop: a request may hold megabytes,
    an answer millions of numbers.
    """

    def __init__(
        self,
        engine: PoolingEngine,
        routes: Mapping[str, Sequence[Form[Any]]],
        others: Handler | None = None,
    ) -> None:
        """It lives in the event loop that runs; without `others` it is asked of its routes only."""
        self._engine = engine
        self._routes = {path.encode(): forms for path, forms in routes.items()}
        self._others = others
        self._threads = ThreadPoolExecutor(ENCODING_THREADS, "encode")
        self._loop = asyncio.get_running_loop()
        self._ended: deque[tuple[_Exchange, Answered | Future[list[Tensor]]]] = deque()
        self._is_woken = False

    def __call__(self, request: ClientRequest, answer: Answer) -> Leave:
        forms = self._routes.get(request.target) if request.method == "POST" else None
        if forms is None:
            assert self._others is not None
            return self._others(request, answer)
        is_flat = not request.target.startswith(b"/v1/")
        try:
            call = Call(self._engine, forms, request.body)
        except Exception as error:
            answer(_refused(error, is_flat=is_flat))
            return _nothing
        exchange = _Exchange(call, answer, is_flat=is_flat)
        self._threads.submit(self._submit, exchange)
        return exchange.leave

    def _submit(self, exchange: _Exchange) -> None:
        """Encode and queue; on a thread for it."""
        if exchange.has_left:
            return
        try:
            pooled = exchange.call.submit().answer
        except Exception as error:
            self._end(exchange, _refused(error, is_flat=exchange.is_flat))
            return
        exchange.pooled = pooled
        if exchange.has_left:  # a moment ago
            pooled.cancel()
        pooled.add_done_callback(lambda ended: self._end(exchange, ended))

    def _end(self, exchange: _Exchange, ended: "Answered | Future[list[Tensor]]") -> None:
        """Let the event loop answer, which is woken once for all that end together. Any thread."""
        self._ended.append((exchange, ended))
        if not self._is_woken:
            self._is_woken = True
            self._loop.call_soon_threadsafe(self._answer_ended)

    def _answer_ended(self) -> None:
        self._is_woken = False  # first: what ends from here on wakes the loop again
        while self._ended:
            exchange, ended = self._ended.popleft()
            if exchange.has_left:
                continue
            if isinstance(ended, Answered):
                exchange.answer(ended)
            elif _is_large(ended):
                self._threads.submit(self._write, exchange, ended)
            else:
                exchange.answer(_written(exchange, ended))

    def _write(self, exchange: _Exchange, ended: "Future[list[Tensor]]") -> None:
        self._end(exchange, _written(exchange, ended))


def _is_large(ended: "Future[list[Tensor]]") -> bool:
    if ended.cancelled() or ended.exception():
        return False
    return sum(output.numel() for output in ended.result()) > MANY_NUMBERS


def _written(exchange: _Exchange, ended: "Future[list[Tensor]]") -> Answered:
    try:
        body, tokens = exchange.call.written(ended.result())
    except RowFailed as error:
        return _refused(EngineFailed(str(error)), is_flat=exchange.is_flat)
    except Exception as error:
        return _refused(error, is_flat=exchange.is_flat)
    return Answered(headers=(JSON_TYPE, (TOKENS_HEADER, b"%d" % tokens)), body=body)


def _refused(error: Exception, *, is_flat: bool) -> Answered:
    status, body = refusal(error, is_flat=is_flat)
    more = _RETRY_AFTER if status == 429 else []
    return Answered(status=status, headers=[JSON_TYPE, *more], body=to_json(body))


def _nothing() -> None:
    """Nothing is under way."""
