"""Carries a request's texts to the model thread and back, for every route that pools."""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic

from pydantic_core import to_json
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from torch import Tensor

from workers.engine.errors import RowFailed
from workers.engine.pooling.engine import PoolingEngine
from workers.engine.pooling.rows import Request as Pooled
from workers.engine.pooling.rows import Row
from workers.engine.server.body import Fields, check_body, parse_object
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


class Call:
    """One request on its way: read, encoded and computed, written."""

    def __init__(self, engine: PoolingEngine, forms: Sequence[Form[Any]], content: bytes) -> None:
        """Raises: `RequestRefused` that names the first bad field."""
        sent = parse_object(content)
        self._engine = engine
        self._form = next((each for each in forms if each.mark in sent), forms[-1])
        self._fields = check_body(self._form.kind, sent)
        self._rows: Sequence[Row] = ()
        self._places: Sequence[int] = ()

    def submit(self) -> Pooled:
        """Encode and queue the texts; for a thread of its own. Raises: `RequestRefused`.

        Texts that are the same to the model are computed once.
        """
        self._rows = self._form.encode(self._fields)
        distinct, self._places = _distinct(self._rows)
        return self._engine.submit(distinct)

    def written(self, outputs: Sequence[Tensor]) -> tuple[bytes, int]:
        """Give back the answer and the tokens that were read."""
        each = [outputs[place] for place in self._places]
        computed = Computed(rows=self._rows, outputs=each)
        return to_json(self._form.body(self._fields, computed)), computed.tokens


def pooling_routes(
    engine: PoolingEngine, routes: Mapping[str, Sequence[Form[Any]]]
) -> Iterable[Route]:
    """Give back a route per path that answers in the form in which it is asked, else in the last.

    Texts are encoded and answers written beside the event loop: a request may hold megabytes, an
    answer millions of numbers.
    """
    return [_pooling_route(path, engine, forms) for path, forms in routes.items()]


def _pooling_route(path: str, engine: PoolingEngine, forms: Sequence[Form[Any]]) -> Route:
    async def answer(request: Request) -> Response:
        call = Call(engine, forms, await request.body())
        pooled = (await run_in_threadpool(call.submit)).answer
        try:
            outputs = await unless_client_leaves(request, asyncio.wrap_future(pooled))
        except RowFailed as error:
            raise EngineFailed(str(error)) from error
        finally:
            pooled.cancel()  # no effect on an answer that is there
        body, tokens = await run_in_threadpool(call.written, outputs)
        return Response(body, headers={TOKENS_HEADER: str(tokens)}, media_type="application/json")

    return Route(path, answer, methods=["POST"])


def _distinct(rows: Sequence[Row]) -> tuple[Sequence[Row], Sequence[int]]:
    """The rows without repetitions, and where each is among them."""
    if len(rows) == 1:
        return rows, (0,)
    found: dict[Any, int] = {}
    places = [
        found.setdefault((*row.ids, row.prompt_tokens, tuple(row.types or ())), len(found))
        for row in rows
    ]
    if len(found) == len(rows):
        return rows, places
    firsts = dict(zip(reversed(places), reversed(rows), strict=True))
    return [firsts[place] for place in range(len(found))], places
