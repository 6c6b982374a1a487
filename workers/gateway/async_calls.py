"""Asynchronous requests: handed to the control plane, which keeps them, and asked after there.

A client hears that its request is accepted only once the control plane has committed it.
"""

import asyncio
import json
import logging
from http import HTTPStatus
from typing import Any, NamedTuple

from controlplane.clock import SYSTEM, Clock
from controlplane.domain.async_requests.asking import MOST_BODY_BYTES
from controlplane.domain.json_text import read_json
from workers.gateway import local_answers
from workers.gateway.control_plane import ControlPlane, ControlPlaneAway, CredentialRefused
from workers.gateway.control_plane_calls import Answer
from workers.gateway.membership import Membership
from workers.gateway.refusals import (
    GATEWAY_FAILED,
    Refusal,
    Refused,
    malformed,
    not_found,
    rate_limited,
    too_large,
)
from workers.gateway.request import Request
from workers.gateway.routing import (
    Action,
    Place,
    Target,
    require_method,
    require_model,
    resolve,
)
from workers.gateway.seams import Client
from workers.gateway.shares import CanaryWish, Shares
from workers.gateway.snapshot import Deployment, Key, Snapshot

log = logging.getLogger(__name__)
# Of one team at one gateway. Source: the hosted product's guide and API reference.
PER_SECOND = {
    Action.ASYNC_PREDICT: 200.0,
    Action.ASYNC_REQUEST: 100.0,
    Action.ASYNC_OUTPUT: 100.0,
    Action.ASYNC_QUEUE_STATUS: 20.0,
}
METHODS = {
    Action.ASYNC_PREDICT: frozenset({b"POST"}),
    Action.ASYNC_REQUEST: frozenset({b"GET", b"DELETE"}),
    Action.ASYNC_OUTPUT: frozenset({b"GET"}),
    Action.ASYNC_QUEUE_STATUS: frozenset({b"GET"}),
}
ASYNC_ACTIONS = frozenset(METHODS)


READING = ASYNC_ACTIONS - {Action.ASYNC_PREDICT}
"""What costs nothing, so that it needs no money left."""


class AsyncAsk(NamedTuple):
    key: Key
    target: Target
    method: bytes
    deployment: Deployment | None
    """None where a request is named, which knows its own."""


def async_ask(
    key: Key,
    target: Target,
    request: Request,
    snapshot: Snapshot,
    shares: Shares,
    wish: CanaryWish,
) -> AsyncAsk:
    """Return what is asked of the control plane, if the key may. Raises Refused."""
    require_method(target, request.method, METHODS[target.action])
    if target.place is Place.MODEL:
        require_model(target, key, snapshot)
        return AsyncAsk(key, target, request.method, None)
    if (refusal := body_refusal(request.content_length or 0)) is not None:
        raise Refused(refusal)
    return AsyncAsk(key, target, request.method, resolve(target, key, snapshot, shares, wish))


class AsyncCalls:
    """The way to the control plane, and how often each team may take it."""

    def __init__(
        self, control_plane: ControlPlane, membership: Membership, *, clock: Clock = SYSTEM
    ) -> None:
        self._control_plane, self._membership, self._clock = control_plane, membership, clock
        self._due: dict[tuple[str, Action], float] = {}
        self.running: set[AsyncCall] = set()

    def begin(self, client: Client, request: Request, ask: AsyncAsk, id: bytes) -> "AsyncCall":
        """Return the call, to be started. Raises Refused where the team asks too often."""
        self._take(ask)
        return AsyncCall(self, client, request, ask, id)

    async def answer(self, ask: AsyncAsk, id: str, content: bytes) -> Answer:
        """Return what the control plane answers. Raises ControlPlaneAway or CredentialRefused."""
        credential = await self._membership.credential()
        question = _question(ask, id, content)
        return await self._control_plane.async_request(*question, credential)

    def _take(self, ask: AsyncAsk) -> None:
        """Count the call: a second's worth may come at once."""
        now, place = self._clock.monotonic(), (ask.key.team_id, ask.target.action)
        per_second = PER_SECOND[ask.target.action]
        due = max(self._due.get(place, -1.0), now - 1.0)
        if due + 1.0 / per_second > now + 1e-9:
            words = f"`{ask.target.action}` may be asked {per_second:g} times a second by a team."
            raise Refused(rate_limited(f"{words} Wait 1 s.", retry_after_seconds=1))
        self._due[place] = due + 1.0 / per_second


class AsyncCall:
    """One request of a client that the control plane answers."""

    __slots__ = ("_ask", "_calls", "_client", "_id", "_request", "_task")

    def __init__(
        self, calls: AsyncCalls, client: Client, request: Request, ask: AsyncAsk, id: bytes
    ) -> None:
        self._calls, self._request, self._ask, self._id = calls, request, ask, id
        self._client: Client | None = client
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._calls.running.add(self)
        self._task = asyncio.get_running_loop().create_task(self._run())

    def client_left(self) -> None:
        """Let it run to its end: what is accepted stays so."""
        self._client = None

    def client_is_full(self) -> None: ...

    def client_has_room(self) -> None: ...

    async def _run(self) -> None:
        try:
            answered = await self._answered()
        except Exception:
            log.exception("the call of request %s failed by a mistake of ours", self._id.decode())
            answered = GATEWAY_FAILED
        finally:
            self._calls.running.discard(self)
        if (client := self._client) is None:
            return
        if isinstance(answered, Refusal):
            client.refuse(self._request, answered, self._id)
        else:
            client.write(_written(self._request, answered, self._id))
            client.answered(keep_alive=self._request.keep_alive)

    async def _answered(self) -> Answer | Refusal:
        content = b"".join(self._request.body)
        self._request.body.clear()
        try:
            answer = await self._calls.answer(self._ask, self._id.decode(), content)
        except (ControlPlaneAway, CredentialRefused):
            return AWAY
        except UnicodeDecodeError:
            return malformed("The body is not JSON: it is not in UTF-8.")
        if answer.status >= HTTPStatus.BAD_REQUEST:
            return _refused(answer)
        return _queue_answer(self._ask, answer)


def body_refusal(size_bytes: int) -> Refusal | None:
    if size_bytes <= MOST_BODY_BYTES:
        return None
    return too_large(
        f"The body is larger than {MOST_BODY_BYTES // 1024} KiB, the most of an asynchronous "
        "request. Put large inputs where the model can fetch them, or ask `predict`."
    )


def _question(ask: AsyncAsk, id: str, content: bytes) -> tuple[str, str, dict[str, str], bytes]:
    """Return method, path, parameters and body of what the control plane is asked."""
    key, target, method, deployment = ask
    whose = {"key_id": key.id, "model_id": target.model_id}
    if target.action is Action.ASYNC_QUEUE_STATUS and deployment is not None:
        return "GET", f"async_queues/{deployment.id}", {}, b""
    if target.action is Action.ASYNC_OUTPUT:
        return "GET", f"async_requests/{target.name}/output", whose, b""
    if deployment is None:
        path = f"async_requests/{target.name}"
        if method == b"DELETE":
            return "POST", f"{path}/cancel", whose, b""
        return "GET", path, whose, b""
    body: dict[str, Any] = {
        **whose,
        "id": id,
        "deployment_id": deployment.id,
        "environment": target.name if target.place is Place.ENVIRONMENT else "",
        "content": content.decode(),
    }
    return "POST", "async_requests", {}, json.dumps(body).encode()


def _queue_answer(ask: AsyncAsk, answer: Answer) -> Answer:
    if ask.target.action is not Action.ASYNC_QUEUE_STATUS or ask.deployment is None:
        return answer
    parameters = {"model_id": ask.target.model_id, "deployment_id": ask.deployment.id}
    content = json.dumps({**parameters, **read_json(answer.content)}).encode()
    return Answer(status=answer.status, headers=answer.headers, content=content)


def _written(request: Request, answer: Answer, id: bytes) -> bytes:
    return local_answers.answer(
        request, answer.status, answer.content, request_id=id,
        closes=not request.keep_alive, ours=[], kind=local_answers.JSON,
    )  # fmt: skip


def _refused(answer: Answer) -> Refusal:
    try:
        words = str(read_json(answer.content)["message"])
    except (ValueError, KeyError, TypeError):
        words = "The control plane refused the request."
    if answer.status == HTTPStatus.TOO_MANY_REQUESTS:
        return Refusal(
            status=429, code="capacity_exceeded", error_code="CAPACITY_EXCEEDED", message=words,
            retry_after_seconds=10,
        )  # fmt: skip
    return not_found(words) if answer.status == HTTPStatus.NOT_FOUND else malformed(words)


AWAY = Refusal(
    status=503,
    code="queue_unavailable",
    error_code="model_unavailable",
    message="The control plane, which keeps asynchronous requests, did not answer. Whether this "
    "one was accepted is not known. Send it again in a moment.",
    retry_after_seconds=2,
)
