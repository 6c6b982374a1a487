"""Asynchronous requests at the gateway: handed over, asked after, and refused in plain words."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest

from controlplane.domain.wire.async_requests import ON_BEHALF_HEADER
from controlplane.domain.wire.traffic_mark import MARK_HEADER
from tests.workers.gateway.stage.house import House
from tests.workers.gateway.stage.routes import (
    CHAT,
    FOREIGN_KEY,
    KEY,
    METRICS_KEY,
    digest,
    key_row,
    routes,
)
from tests.workers.gateway.stage.scripts import answers
from workers.gateway.async_calls import AsyncCalls
from workers.gateway.control_plane import ControlPlaneAway, Credential
from workers.gateway.control_plane_calls import Answer

PREDICT = "/m/modelaaa/environments/production/async_predict"
QUEUE = "/m/modelaaa/production/async_queue_status"
REQUEST = "/m/modelaaa/async_request/abc123"
QUEUE_KEY = "queuekey.0123456789abcdef"


@dataclass
class Plane:
    """A control plane that answers these questions alone, by what the test tells it."""

    status: int = 201
    told: Mapping[str, Any] = field(default_factory=lambda: {"request_id": "r"})
    is_away: bool = False
    asked: list[tuple[str, str, Mapping[str, str], Any]] = field(default_factory=list)

    async def credential(self) -> Credential:
        return Credential(gateway_id="gateway1", secret="s")

    async def async_request(
        self, method: str, path: str, params: Mapping[str, str], body: bytes, _: Credential
    ) -> Answer:
        self.asked.append((method, path, params, json.loads(body) if body else None))
        if self.is_away:
            raise ControlPlaneAway("away")
        return Answer(status=self.status, headers={}, content=json.dumps(self.told).encode())


@pytest.fixture
def plane() -> Plane:
    return Plane()


@pytest.fixture
def url(house: House, plane: Plane) -> str:
    house.publish()
    gateway = house.gateway()
    gateway.inner.async_calls = AsyncCalls(plane, plane, clock=house.clock)  # type: ignore[arg-type]
    return gateway.url


def _pieces() -> Iterator[bytes]:
    """A body without a length, a byte too long."""
    yield b"x" * 262_144
    yield b"x"


def test_a_request_is_handed_over_as_it_came_and_accepted_with_its_id(
    url: str, plane: Plane, http: httpx.Client
) -> None:
    body = '{"model_input": {"prompt": "ü"}}'
    answer = http.post(url + PREDICT, content=body)
    assert (answer.status_code, answer.json()) == (201, {"request_id": "r"})
    ((method, path, _, report),) = plane.asked
    assert (method, path) == ("POST", "async_requests")
    assert report == {
        "id": answer.headers["x-baseten-request-id"], "key_id": "keyaaaaa", "model_id": "modelaaa",
        "deployment_id": "deploy01", "environment": "production", "content": body,
    }  # fmt: skip


@pytest.mark.parametrize("place", ["production", "deployment/deploy01", "deployment/sleeping"])
def test_every_documented_form_is_taken(
    url: str, plane: Plane, http: httpx.Client, place: str
) -> None:
    assert http.post(f"{url}/m/modelaaa/{place}/async_predict", json={}).status_code == 201
    plane.told, plane.status = {"num_queued_requests": 1, "num_in_progress_requests": 2}, 200
    content = http.get(f"{url}/m/modelaaa/{place}/async_queue_status").json()
    deployment = place.partition("/")[2] or "deploy01"
    assert content == {
        "model_id": "modelaaa", "deployment_id": deployment,
        "num_queued_requests": 1, "num_in_progress_requests": 2,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("method", "path", "asked"),
    [
        ("GET", REQUEST, ("GET", "async_requests/abc123")),
        ("DELETE", REQUEST, ("POST", "async_requests/abc123/cancel")),
        ("GET", f"{REQUEST}/output", ("GET", "async_requests/abc123/output")),
    ],
)
def test_a_request_is_asked_after_by_whose_key_it_is(
    url: str, plane: Plane, http: httpx.Client, method: str, path: str, asked: tuple[str, str]
) -> None:
    plane.status = 200
    assert http.request(method, url + path).status_code == 200
    assert plane.asked == [(*asked, {"key_id": "keyaaaaa", "model_id": "modelaaa"}, None)]


@pytest.mark.parametrize(
    ("ask", "status", "words"),
    [
        (lambda http, url: http.get(url + PREDICT), 405, "takes POST only"),
        (lambda http, url: http.post(url + REQUEST), 405, "takes DELETE, GET only"),
        (lambda http, url: http.get(url + "/m/modelaaa/async_request/A-B"), 404, "names no"),
        (lambda http, url: http.post(url + PREDICT, content=b"x" * 262_145), 413, "256 KiB"),
        (lambda http, url: http.post(url + PREDICT, content=_pieces()), 413, "256 KiB"),
        (lambda http, url: http.post(url + PREDICT, content=b"\xff"), 400, "not in UTF-8"),
        (
            lambda http, url: http.post(
                url + "/m/modelaaa/development/async_predict", json={"model_input": {}}
            ),
            404,
            "no development deployment",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_before_the_control_plane_is_asked(
    url: str,
    plane: Plane,
    http: httpx.Client,
    ask: Callable[[httpx.Client, str], httpx.Response],
    status: int,
    words: str,
) -> None:
    answer = ask(http, url)
    assert answer.status_code == status
    assert words in answer.json()["error"]
    assert plane.asked == []


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (400, "client_error"),
        (404, "model_does_not_exist"),
        (429, "CAPACITY_EXCEEDED"),
    ],
)
def test_what_the_control_plane_refuses_is_told_in_its_words(
    url: str, plane: Plane, http: httpx.Client, status: int, code: str
) -> None:
    plane.status, plane.told = status, {"message": "`priority` is `7`."}
    answer = http.post(url + PREDICT, json={})
    assert answer.status_code == status
    assert answer.json()["error"] == "`priority` is `7`."
    assert answer.json()["error_code"] == code


def test_without_the_control_plane_nothing_is_accepted(
    url: str, plane: Plane, http: httpx.Client
) -> None:
    plane.is_away = True
    answer = http.post(url + PREDICT, json={"model_input": {}})
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "2")


def test_others_keys_see_no_request_and_a_metrics_key_calls_nothing(
    url: str, plane: Plane, http: httpx.Client
) -> None:
    for key, status in ((FOREIGN_KEY, 404), (METRICS_KEY, 403)):
        bearer = {"authorization": f"Bearer {key}"}
        assert http.get(url + REQUEST, headers=bearer).status_code == status
        assert http.post(url + PREDICT, json={}, headers=bearer).status_code == status
    assert plane.asked == []


def test_a_team_asks_only_so_often(
    house: House, url: str, plane: Plane, http: httpx.Client
) -> None:
    plane.told, plane.status = {"num_queued_requests": 0, "num_in_progress_requests": 0}, 200
    statuses = [http.get(url + QUEUE).status_code for _ in range(21)]
    assert statuses == [200] * 20 + [429]
    house.clock.advance(1 / 20)
    assert [http.get(url + QUEUE).status_code for _ in range(2)] == [200, 429]


def test_the_queues_own_key_counts_for_the_one_that_asked_and_is_nothing_by_itself(
    house: House, http: httpx.Client
) -> None:
    engine = house.engine(answers)
    snapshot = routes(engine.port)
    snapshot["keys"][digest(QUEUE_KEY)] = key_row("queue000", traffic_mark="async")
    house.publish_snapshot(snapshot)
    gateway = house.gateway()
    bearer = {"authorization": f"Bearer {QUEUE_KEY}", MARK_HEADER: "async"}

    answer = http.post(
        gateway.url + CHAT, json={}, headers={**bearer, ON_BEHALF_HEADER: digest(KEY)}
    )
    assert answer.status_code == 200
    assert house.record_of(answer)["key_id"] == "keyaaaaa"
    assert ON_BEHALF_HEADER not in engine.calls[0].headers
    for other in (digest(FOREIGN_KEY), digest(QUEUE_KEY), "", "nobody"):
        refused = http.post(
            gateway.url + CHAT, json={}, headers={**bearer, ON_BEHALF_HEADER: other}
        )
        assert refused.status_code == 403
    unmarked = {"authorization": f"Bearer {QUEUE_KEY}", ON_BEHALF_HEADER: digest(KEY)}
    assert http.post(gateway.url + CHAT, json={}, headers=unmarked).status_code == 403
    anybody = {"authorization": f"Bearer {KEY}", ON_BEHALF_HEADER: digest(FOREIGN_KEY)}
    own = http.post(gateway.url + CHAT, json={}, headers=anybody)
    assert house.record_of(own)["key_id"] == "keyaaaaa"
