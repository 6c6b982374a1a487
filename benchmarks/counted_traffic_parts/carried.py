"""What the machine carries: questions asked one after another by many clients, and how many end."""

import asyncio
import time

import httpx

from benchmarks.recovery_parts.traffic import Question, Traffic

CLIENTS = 32
_PATIENCE_SECONDS = 60.0


def carried_each_second(traffic: Traffic, seconds: float) -> float:
    """Return how many questions a second are answered to clients that never pause."""
    began = time.monotonic()
    answered = asyncio.run(_answered(traffic, began + seconds))
    return answered / (time.monotonic() - began)


async def _answered(traffic: Traffic, until: float) -> int:
    async with httpx.AsyncClient(timeout=_PATIENCE_SECONDS, trust_env=False) as client:
        counts = await asyncio.gather(*[
            _ask_on(traffic, client, until) for _ in range(CLIENTS)
        ])  # fmt: skip
    return sum(counts)


async def _ask_on(traffic: Traffic, client: httpx.AsyncClient, until: float) -> int:
    answered = 0
    while time.monotonic() < until:
        question = Question(answered, time.monotonic())
        await traffic.ask(client, question)
        answered += question.was_answered
    return answered
