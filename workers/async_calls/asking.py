"""One question to a gateway, in a task that may be cancelled: then its model stops too."""

import ssl
from dataclasses import dataclass, field
from http import HTTPStatus

import httpx

from controlplane.clock import SYSTEM, Clock
from controlplane.domain.async_requests.answers import Attempt, attempt_of, broken_off, too_long
from controlplane.domain.async_requests.answers import waiting as waits
from controlplane.domain.wire.async_requests import ON_BEHALF_HEADER
from controlplane.domain.wire.traffic_mark import ASYNC, MARK_HEADER

RUN_SECONDS = 3600.0
"""How long a request may run. Source: the hosted product's guide to asynchronous inference."""
CONNECT_SECONDS = 5.0
MOST_OUTPUT_BYTES = 8 * 1024 * 1024


@dataclass(frozen=True, kw_only=True)
class GatewayCall:
    """What is asked, by which key, and on behalf of which, where it is not its own."""

    url: str
    body: bytes
    key: str = field(repr=False)
    on_behalf_of: str = ""
    mark: str = ASYNC


class _TooLarge(Exception):
    """The answer is larger than is kept."""


async def ask_gateway(
    call: GatewayCall, *, run_seconds: float = RUN_SECONDS, clock: Clock = SYSTEM
) -> Attempt:
    """Return how the attempt went, whatever comes."""
    try:
        async with clock.timeout(run_seconds):
            return await _attempt(call)
    except TimeoutError:
        return too_long(f"The model did not answer within {run_seconds:g} s.")
    except (httpx.ConnectError, httpx.ConnectTimeout) as error:
        return waits(f"The gateway could not be reached: {error or type(error).__name__}.")
    except httpx.HTTPError as error:
        return broken_off(f"The answer broke off: {error or type(error).__name__}.")
    except _TooLarge:
        return attempt_of(422, f"The answer is larger than {MOST_OUTPUT_BYTES:,} bytes.".encode())


async def _attempt(call: GatewayCall) -> Attempt:
    headers = {
        "authorization": f"Bearer {call.key}",
        "content-type": "application/json",
        MARK_HEADER: call.mark,
        **({ON_BEHALF_HEADER: call.on_behalf_of} if call.on_behalf_of else {}),
    }
    # No proxy from the environment: this is a neighbour, and it carries a credential.
    is_tls = call.url.startswith("https:")
    timeout = httpx.Timeout(None, connect=CONNECT_SECONDS)
    verify = ssl.create_default_context() if is_tls else False
    async with (
        httpx.AsyncClient(verify=verify, trust_env=False, timeout=timeout) as client,
        client.stream("POST", call.url, content=call.body, headers=headers) as answer,
    ):
        content = await _content(answer)
    if answer.status_code == HTTPStatus.UNAUTHORIZED:
        return waits("The gateway does not know the queue's key yet.")
    return attempt_of(
        answer.status_code, content, retry_after=answer.headers.get("retry-after", "")
    )


async def _content(answer: httpx.Response) -> bytes:
    content = bytearray()
    async for piece in answer.aiter_bytes():
        content += piece
        if len(content) > MOST_OUTPUT_BYTES:
            raise _TooLarge
    return bytes(content)
