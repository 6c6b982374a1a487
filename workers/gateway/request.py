"""One request as the client sent it, and what was decided about it when its head was read."""

from dataclasses import dataclass, field

from workers.gateway.headers import Header
from workers.gateway.refusals import Refusal
from workers.gateway.routing import Action, Place, Target
from workers.gateway.snapshot import Deployment, Key


@dataclass(frozen=True, slots=True)
class Admission:
    """A key that may call a deployment."""

    key: Key
    target: Target
    deployment: Deployment

    @property
    def route(self) -> str:
        """The engine's path, as it is sent and as the engine reads it."""
        predicts = self.target.action is Action.PREDICT
        return self.deployment.predict_route if predicts else self.target.route

    @property
    def environment(self) -> str | None:
        named = self.target.place is Place.ENVIRONMENT
        return self.target.name if named else self.deployment.environment


@dataclass(slots=True)
class Request:
    url: bytes = b""
    method: bytes = b""
    path: str = ""
    query: bytes = b""
    headers: list[Header] = field(default_factory=list)
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
    refusal: Refusal | None = None

    @property
    def speaks_openai(self) -> bool:
        return "/sync/v1/" in self.path

    @property
    def expects_body(self) -> bool:
        return self.chunked or bool(self.content_length)
