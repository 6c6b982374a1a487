"""The routes that tell how an engine is, whatever it serves."""

from typing import TYPE_CHECKING

from prometheus_client import CONTENT_TYPE_LATEST
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from controlplane.clock import SYSTEM, Clock

if TYPE_CHECKING:  # a process needs one of the two
    from workers.engine.engine import Engine
    from workers.engine.pooling.engine import PoolingEngine


def status_routes(engine: "Engine | PoolingEngine", *, clock: Clock = SYSTEM) -> list[Route]:
    """Give back what answers beside the routes that serve."""
    started = int(clock.time())

    async def health(request: Request) -> Response:
        is_alive = engine.is_alive  # for as long as the model thread lives
        return JSONResponse({"status": "ready" if is_alive else "failed"}, 200 if is_alive else 503)

    async def info(request: Request) -> Response:
        return JSONResponse(engine.report())

    async def metrics(request: Request) -> Response:
        return Response(engine.metrics.expose(), headers={"content-type": CONTENT_TYPE_LATEST})

    async def models(request: Request) -> Response:
        served = engine.settings.served_model_name
        model = {
            "id": served, "object": "model", "created": started, "owned_by": "enginehouse",
            "max_model_len": engine.max_seq_len,
        }  # fmt: skip
        adapters = [{**model, "id": each, "parent": served} for each in engine.adapter_names]
        return JSONResponse({"object": "list", "data": [model, *adapters]})

    return [
        Route("/health", health), Route("/info", info), Route("/metrics", metrics),
        Route("/v1/models", models),
    ]  # fmt: skip
