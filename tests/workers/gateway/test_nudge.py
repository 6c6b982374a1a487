"""A broker is a hint's way: whatever becomes of it, the loop that listens turns on."""

from collections.abc import Iterator
from threading import Event
from urllib.parse import urlsplit

import pytest
import redis

from tests.manual_clock import ManualClock
from tests.waiting import wait_for
from tests.workers.gateway.stage.loop_thread import LoopThread
from tests.workers.gateway.stage.silent_proxy import SilentProxy
from workers.gateway import nudge
from workers.gateway.nudge import ANSWER_SECONDS, CHANNEL, RECONNECT_SECONDS


@pytest.fixture
def proxy(broker: str) -> Iterator[SilentProxy]:
    proxy = SilentProxy(urlsplit(broker).port or 0)
    yield proxy
    proxy.close()


def test_a_broker_that_vanishes_without_a_word_is_left_and_found_again(
    broker: str, proxy: SilentProxy
) -> None:
    clock, loop, nudged = ManualClock(), LoopThread(), Event()
    url = broker.replace(f":{urlsplit(broker).port}", f":{proxy.port}")
    loop.start(nudge.listen(url, nudged.set, clock=clock))
    wait_for(nudged.is_set, what="the first subscription", meanwhile=lambda: clock.advance(0.05))
    wait_for(lambda: _publish(broker) == 1, what="a listener")

    proxy.is_silent = True
    for _ in range(2):  # it says nothing, then nothing though it was asked
        clock.wait_for_waiters()
        clock.advance(ANSWER_SECONDS)
    wait_for(
        lambda: proxy.connections > 1,
        what="another connection",
        meanwhile=lambda: clock.advance(RECONNECT_SECONDS),
    )
    assert loop.call(lambda: "turns") == "turns"

    proxy.is_silent = False
    nudged.clear()
    wait_for(nudged.is_set, what="a nudge", meanwhile=lambda: clock.advance(RECONNECT_SECONDS))
    loop.close()


def _publish(broker: str) -> int:
    with redis.Redis.from_url(broker) as valkey:
        return int(valkey.publish(CHANNEL, 1))
