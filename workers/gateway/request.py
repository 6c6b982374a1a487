"""One request as the client sent it, and what was decided about it when its head was read."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from workers.gateway.headers import Header
from workers.gateway.known_head import KnownHead
from workers.gateway.refusals import Refusal
from workers.gateway.routing import Action, Place, Target
from workers.gateway.snapshot import Deployment, Key
from workers.gateway.usage_fields import usage_fields

if TYPE_CHECKING:
    from workers.gateway.async_calls import AsyncAsk


class Admission(NamedTuple):
    key: Key
    target: Target
    deployment: Deployment
    route: str
    """The engine's path, as it is sent and as the engine reads it."""
    environment: str | None
    usage_fields: bytes
    """What its usage records say of it."""

    @classmethod
    def of(cls, key: Key, target: Target, deployment: Deployment) -> "Admission":
        predicts, is_named = target.action is Action.PREDICT, target.place is Place.ENVIRONMENT
        route = deployment.predict_route if predicts else target.route
        environment = target.name if is_named else deployment.environment
        fields = usage_fields(
            deployment.model_id, deployment.id, environment, key.id, route,
            route in deployment.extra_routes, key.traffic_mark,
        )  # fmt: skip
        return cls(key, target, deployment, route, environment, fields)


@dataclass(slots=True)
class Request:
    url: bytes = b""
    method: bytes = b""
    path: str = ""
    query: bytes = b""
    headers: list[Header] = field(default_factory=list)
    named: dict[bytes, bytes] = field(default_factory=dict)
    """The headers by name, but for the body's length: of one that is there twice, the last."""
    known: KnownHead | None = None
    """What follows from the head, which another request on the connection may have had before."""
    http_10: bool = False
    keep_alive: bool = True
    authorization: bytes | None = None
    connection: bytes = b""
    content_length: int | None = None
    chunked: bool = False
    expects_continue: bool = False
    body: list[bytes] = field(default_factory=list)
    body_bytes: int = 0
    address: str = ""
    """Whom the client's address belongs to."""
    held_bytes: int = 0
    """The part of the gateway's memory for bodies that this one holds."""
    held_by: str = ""
    """The key that it counts for."""
    admission: Admission | None = None
    async_ask: "AsyncAsk | None" = None
    """What it asks the control plane in place of an engine."""
    refusal: Refusal | None = None

    @property
    def speaks_openai(self) -> bool:
        return "/sync/v1/" in self.path

    @property
    def expects_body(self) -> bool:
        return self.chunked or bool(self.content_length)
