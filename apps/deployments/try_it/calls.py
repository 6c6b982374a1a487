"""A call of a model on behalf of a page, as server-sent events.

Three events are ours: `answer` comes first and tells the status, `body` is an answer that is no
stream, `error` tells that there was no answer or no end of it. What is between is the gateway's
stream as it came.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache

import httpx

from controlplane.clock import SYSTEM, Clock
from controlplane.domain.wire import encode_comment, encode_event, openai_error

_BEAT_SECONDS = 15.0
_KEY_IS_KNOWN_SECONDS = 5.0
# The gateway gives up by itself, with words, before this does.
_TIMEOUT = httpx.Timeout(connect=5.0, read=1_230.0, write=60.0, pool=None)
_EVENTS = "text/event-stream"
LONGEST_BODY_BYTES = 8_000_000
_TOO_LONG = openai_error(
    f"The answer is longer than {LONGEST_BODY_BYTES // 1_000_000} MB, more than a page shows. "
    "Ask the endpoint itself.",
    type="server_error",
    code="answer_too_long",
)


@dataclass(frozen=True, kw_only=True)
class Call:
    url: str
    key: str
    body: bytes


async def call_events(call: Call, *, clock: Clock = SYSTEM) -> AsyncIterator[bytes]:
    """Yield the answer as it comes; the gateway's connection closes when nobody reads on."""
    try:
        async with httpx.AsyncClient(verify=_tls(), timeout=_TIMEOUT, trust_env=False) as client:
            asking = asyncio.ensure_future(_ask(client, call, clock))
            try:
                while not await _ended_within_a_beat(asking, clock):
                    yield encode_comment("waiting")
                answer = asking.result()
            finally:
                asking.cancel()
            async for piece in _passed_on(answer):
                yield piece
    except httpx.HTTPError as error:
        yield encode_event(_lost(error), event="error")


async def _ended_within_a_beat(asking: "asyncio.Future[httpx.Response]", clock: Clock) -> bool:
    with suppress(TimeoutError):
        async with clock.timeout(_BEAT_SECONDS):
            await asyncio.wait({asking})
    return asking.done()


async def _ask(client: httpx.AsyncClient, call: Call, clock: Clock) -> httpx.Response:
    """Return the beginning of the answer; a key made just now may be new to the gateway."""
    request = client.build_request(
        "POST",
        call.url,
        content=call.body,
        headers={
            "Authorization": f"Bearer {call.key}",
            "Content-Type": "application/json",
            "Accept-Encoding": "identity",
        },
    )
    give_up_at = clock.monotonic() + _KEY_IS_KNOWN_SECONDS
    while True:
        answer = await client.send(request, stream=True)
        if answer.status_code != httpx.codes.UNAUTHORIZED or clock.monotonic() > give_up_at:
            return answer
        await answer.aclose()
        await clock.pause(0.1)


async def _passed_on(answer: httpx.Response) -> AsyncIterator[bytes]:
    yield encode_event(
        {"status": answer.status_code, "retry_after": _retry_after(answer)}, event="answer"
    )
    if answer.headers.get("content-type", "").startswith(_EVENTS):
        async for piece in answer.aiter_raw():
            yield piece
    else:
        yield await _body(answer)
    await answer.aclose()


async def _body(answer: httpx.Response) -> bytes:
    content = bytearray()
    async for piece in answer.aiter_raw():
        content += piece
        if len(content) > LONGEST_BODY_BYTES:
            return encode_event(_TOO_LONG, event="error")
    return encode_event(content.decode(errors="replace"), event="body")


def _retry_after(answer: httpx.Response) -> int | None:
    with suppress(ValueError):
        return int(answer.headers.get("retry-after", ""))
    return None


def _lost(error: httpx.HTTPError) -> dict[str, object]:
    reason = str(error) or type(error).__name__
    return openai_error(
        f"The gateway does not answer ({reason}).", type="server_error", code="gateway_lost"
    )


@cache
def _tls() -> ssl.SSLContext:
    """Return the trusted certificates, which take a while to read."""
    return ssl.create_default_context()
