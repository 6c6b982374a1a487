"""Carries a request's rows to the model thread and back."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from torch import Tensor

from workers.engine.errors import RequestRefused, RowFailed
from workers.engine.pooling.engine import PoolingEngine
from workers.engine.pooling.rows import Row
from workers.engine.server.errors import EngineFailed
from workers.engine.server.leaving import unless_client_leaves

TOO_MANY = "too_many_inputs"

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
        return sum(len(row) for row in self.rows)


async def compute(
    request: Request, engine: PoolingEngine, encode: Callable[[], Sequence[Row]]
) -> Computed:
    """Tokenize beside the event loop, then wait for the model, or for the client to leave."""
    rows = await run_in_threadpool(encode)
    answer = engine.submit(rows).answer
    try:
        outputs = await unless_client_leaves(request, asyncio.wrap_future(answer))
    except RowFailed as error:
        raise EngineFailed(str(error)) from error
    finally:
        answer.cancel()  # no effect on an answer that is there
    return Computed(rows=rows, outputs=outputs)


async def respond(computed: Computed, body: Callable[[], Any]) -> Response:
    """Write the body beside the event loop: it may hold millions of numbers."""
    answer = await run_in_threadpool(lambda: JSONResponse(body()))
    answer.headers[TOKENS_HEADER] = str(computed.tokens)
    return answer


def check_count(engine: PoolingEngine, texts: int, field: str) -> None:
    """Let a request of few enough texts pass. Raises: `RequestRefused`."""
    most = engine.settings.max_client_batch_size
    if texts > most:
        raise RequestRefused(
            f"`{field}` holds {texts} texts; send at most {most} in one request.",
            field=field,
            code=TOO_MANY,
        )
