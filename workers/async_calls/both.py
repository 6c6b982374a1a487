"""One prompt, asked of two deployments at the same time, each until it answers or its time is over.

An answer that will come by itself is waited for: a replica that starts, a gateway that does not
know the key yet.
"""

import asyncio
import json
from dataclasses import dataclass, field

from controlplane.clock import SYSTEM, Clock
from controlplane.domain.async_requests.answers import Attempt, Next
from controlplane.domain.rolling.answer_comparison import (
    Answer,
    Pair,
    answer_of,
    paired,
    unanswered,
)
from controlplane.domain.rolling.answer_guard import Prompt, chat_body
from controlplane.domain.wire.traffic_mark import ANSWERS
from workers.async_calls.asking import GatewayCall, ask_gateway

ANSWER_SECONDS = 120.0
_LONGEST_PAUSE_SECONDS = 5.0


@dataclass(frozen=True, kw_only=True)
class Side:
    url: str
    model: str
    key: str = field(repr=False)


async def ask_both(
    number: int, prompt: Prompt, *, candidate: Side, current: Side, clock: Clock = SYSTEM
) -> Pair:
    """Return the answers of both, whatever comes."""
    answers = await asyncio.gather(*(_ask(each, prompt, clock) for each in (candidate, current)))
    return paired(number, *answers)


async def _ask(side: Side, prompt: Prompt, clock: Clock) -> Answer:
    body = json.dumps(chat_body(prompt, model=side.model)).encode()
    call = GatewayCall(url=side.url, body=body, key=side.key, mark=ANSWERS)
    attempt = await _attempt(call, clock)
    if attempt.code is not None:
        return unanswered(attempt.message)
    return answer_of(attempt.output, prompt)


async def _attempt(call: GatewayCall, clock: Clock) -> Attempt:
    ends_at = clock.monotonic() + ANSWER_SECONDS
    while True:
        left = ends_at - clock.monotonic()
        attempt = await ask_gateway(call, run_seconds=left, clock=clock)
        pause = min(attempt.wait_seconds, _LONGEST_PAUSE_SECONDS)
        if attempt.next is not Next.WAIT or clock.monotonic() + pause >= ends_at:
            return attempt
        await clock.pause(pause)
