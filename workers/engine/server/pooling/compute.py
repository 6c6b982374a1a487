"""Carries a request's texts to the model thread and back, for every route that pools."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from torch import Tensor

from workers.engine.errors import RowFailed
from workers.engine.pooling.engine import PoolingEngine
from workers.engine.pooling.rows import Row
from workers.engine.server.body import Fields, check_body, read_object
from workers.engine.server.errors import EngineFailed
from workers.engine.server.leaving import unless_client_leaves

TOKENS_HEADER = "x-compute-tokens"
"""A bare array has no room for usage, so the count goes here; the gateway meters by it."""


@dataclass(frozen=True, kw_only=True)
class Computed:
    """What the model made of each text."""

    rows: Sequence[Row]
    outputs: Sequence[Tensor]

    @property
    def tokens(self) -> int:
        """Tokens that were read, as billed."""
        return sum(map(len, self.rows))


@dataclass(frozen=True, kw_only=True)
class Form(Generic[Fields]):
    """One way of asking: its fields, their texts as rows, and what is written of the outputs."""

    kind: type[Fields]
    encode: Callable[[Fields], Sequence[Row]]
    body: Callable[[Fields, Computed], Any]
    mark: str | None = None
    """The field by which it is told from the others of its route."""


def pooling_route(path: str, engine: PoolingEngine, *forms: Form[Any]) -> Route:
    """Give back a route that answers in the form in which it is asked, the last where none is told.

    Both go on beside the event loop: a request may hold megabytes, an answer millions of numbers.
    """

    async def answer(request: Request) -> Response:
        sent = await read_object(request)
        form = next((each for each in forms if each.mark in sent), forms[-1])
        fields = check_body(form.kind, sent)
        rows = await run_in_threadpool(form.encode, fields)
        pooled = engine.submit(rows).answer
        try:
            outputs = await unless_client_leaves(request, asyncio.wrap_future(pooled))
        except RowFailed as error:
            raise EngineFailed(str(error)) from error
        finally:
            pooled.cancel()  # no effect on an answer that is there
        computed = Computed(rows=rows, outputs=outputs)
        written = await run_in_threadpool(lambda: JSONResponse(form.body(fields, computed)))
        written.headers[TOKENS_HEADER] = str(computed.tokens)
        return written

    return Route(path, answer, methods=["POST"])
