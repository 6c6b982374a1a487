"""The span of a request to the front is below the gateway's, whatever becomes of the request."""

import pytest

from controlplane.traces.spans import Span
from tests.manual_clock import ManualClock
from workers.engine.server.front.exchange import Answer, Answered, ClientRequest, Leave
from workers.engine.server.front.traced import Traced

TRACE, ABOVE = "a" * 32, "b" * 16


class Scene:
    """A handler that answers when the test says so, and what was told of it."""

    def __init__(self) -> None:
        self.told: list[Span] = []
        self.answered: list[Answered] = []
        self.has_left = False
        self.clock = ManualClock()
        self.traced = Traced(self._handle, self, clock=self.clock)

    def add(self, *spans: Span) -> None:
        self.told += spans

    def ask(self, traceparent: str | None) -> Leave:
        headers = [] if traceparent is None else [(b"traceparent", traceparent.encode())]
        request = ClientRequest(
            method="POST", target=b"/v1/embeddings?a=b", version="1.1", headers=headers, body=b"{}"
        )
        return self.traced(request, self.answered.append)

    def _handle(self, asked: ClientRequest, answer: Answer) -> Leave:
        self.answer = answer
        return self._leave

    def _leave(self) -> None:
        self.has_left = True


@pytest.fixture
def scene() -> Scene:
    return Scene()


@pytest.mark.parametrize(("status", "error"), [(200, ""), (422, ""), (503, "answered 503")])
def test_it_lasts_until_the_answer_and_a_failure_is_its_error(
    scene: Scene, status: int, error: str
) -> None:
    scene.ask(f"00-{TRACE}-{ABOVE}-01")
    began = scene.clock.time()
    scene.clock.advance(2.5)
    scene.answer(Answered(status=status))
    (span,) = scene.told
    assert (span.trace_id, span.parent_id, span.error) == (TRACE, ABOVE, error)
    assert (span.began_at, span.ended_at) == pytest.approx((began, began + 2.5))
    assert span.attributes == {"url.path": "/v1/embeddings", "http.response.status_code": status}
    assert [each.status for each in scene.answered] == [status]


def test_a_client_that_left_is_told_once_and_the_handler_hears_of_it(scene: Scene) -> None:
    leave = scene.ask(f"00-{TRACE}-{ABOVE}-01")
    leave()
    scene.answer(Answered())
    assert [each.error for each in scene.told] == ["ended before its answer"]
    assert scene.has_left


@pytest.mark.parametrize("told", [None, f"00-{TRACE}-{ABOVE}-00", "of another form"])
def test_what_is_not_traced_passes_as_it_came(scene: Scene, told: str | None) -> None:
    leave = scene.ask(told)
    scene.answer(Answered())
    leave()
    assert (scene.told, len(scene.answered), scene.has_left) == ([], 1, True)
