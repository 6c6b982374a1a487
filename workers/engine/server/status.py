"""The routes that tell how an engine is, whatever it serves."""

import time
from typing import Any, Protocol

from prometheus_client import CONTENT_TYPE_LATEST
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route


class Reporting(Protocol):
    """An engine as far as these routes see it."""

    metrics: Any

    @property
    def served_model_name(self) -> str:
        """The name that `/v1/models` carries."""

    @property
    def max_seq_len(self) -> int:
        """The longest sequence in tokens."""

    @property
    def adapter_names(self) -> tuple[str, ...]:
        """Further names, each of an adapter of the model."""

    @property
    def is_alive(self) -> bool:
        """Whether requests are still taken."""

    def report(self) -> dict[str, Any]:
        """Give back what was really loaded and allocated."""


class StatusRoutes:
    """Health, report, metrics and the model's name."""

    def __init__(self, engine: Reporting) -> None:
        self._engine = engine
        self._started = int(time.time())

    def routes(self) -> list[Route]:
        """Give back the routes for an application."""
        return [
            Route("/health", self.health),
            Route("/info", self.info),
            Route("/metrics", self.metrics),
            Route("/v1/models", self.models),
        ]

    async def health(self, request: Request) -> Response:
        """Ready for as long as the model thread lives."""
        if self._engine.is_alive:
            return JSONResponse({"status": "ready"})
        return JSONResponse({"status": "failed"}, 503)

    async def info(self, request: Request) -> Response:
        """What was really loaded and allocated."""
        return JSONResponse(self._engine.report())

    async def metrics(self, request: Request) -> Response:
        """Prometheus' page."""
        page = self._engine.metrics.expose()
        return Response(page, headers={"content-type": CONTENT_TYPE_LATEST})

    async def models(self, request: Request) -> Response:
        """The one model under its served name, and each adapter under its own."""
        served = self._engine.served_model_name
        model = {
            "id": served,
            "object": "model",
            "created": self._started,
            "owned_by": "enginehouse",
            "max_model_len": self._engine.max_seq_len,
        }
        adapters = [{**model, "id": each, "parent": served} for each in self._engine.adapter_names]
        return JSONResponse({"object": "list", "data": [model, *adapters]})
