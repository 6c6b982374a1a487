"""The routes that pool, for an ASGI application: a handler of the front answers them."""

import asyncio
from collections.abc import Callable, Iterable
from functools import cache

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from workers.engine.server.front.exchange import Answered, ClientRequest, Handler
from workers.engine.server.leaving import unless_client_leaves


def pooling_routes(paths: Iterable[str], make_handler: Callable[[], Handler]) -> Iterable[Route]:
    handler = cache(lambda _loop: make_handler())

    async def answer(request: Request) -> Response:
        loop = asyncio.get_running_loop()
        answered: asyncio.Future[Answered] = loop.create_future()
        leave = handler(loop)(await _request_of(request), answered.set_result)
        try:
            body = await unless_client_leaves(request, answered)
        finally:
            leave()  # no effect on an answer that is there
        headers = {name.decode(): value.decode() for name, value in body.headers}
        return Response(body.body, body.status, headers)

    return [Route(path, answer, methods=["POST"]) for path in paths]


async def _request_of(request: Request) -> ClientRequest:
    path = str(request.url.path).encode()
    body = await request.body()
    return ClientRequest(method="POST", target=path, version="1.1", headers=(), body=body)
