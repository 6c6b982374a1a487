"""Carries a request's texts to the model thread and back."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from torch import Tensor

from workers.engine.errors import RowFailed
from workers.engine.pooling.engine import PoolingEngine
from workers.engine.pooling.rows import Row
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


async def pool(
    request: Request,
    engine: PoolingEngine,
    encode: Callable[[], Sequence[Row]],
    body: Callable[[Computed], Any],
) -> Response:
    """Tokenize beside the event loop, wait for the model or for the client to leave, and write.

    Beside the event loop too: a body may hold millions of numbers.
    """
    rows = await run_in_threadpool(encode)
    answer = engine.submit(rows).answer
    try:
        outputs = await unless_client_leaves(request, asyncio.wrap_future(answer))
    except RowFailed as error:
        raise EngineFailed(str(error)) from error
    finally:
        answer.cancel()  # no effect on an answer that is there
    computed = Computed(rows=rows, outputs=outputs)
    written = await run_in_threadpool(lambda: JSONResponse(body(computed)))
    written.headers[TOKENS_HEADER] = str(computed.tokens)
    return written
