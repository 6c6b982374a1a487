"""Replicas of nodes that the control plane does not hear: asked once a second whether they live.

One is chosen only while its runner's last answer named its deployment, generation and boot, and is
no older than a few seconds. Where the control plane alone cannot reach a host, nothing is lost so.
"""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import suppress

from controlplane.clock import SYSTEM, Clock
from controlplane.domain.wire.identity import IDENTITY_PATH, LONGEST_IDENTITY_BYTES
from workers.gateway.snapshot import Deployment, Replica, Snapshot, Suspect

ASK_SECONDS = 1.0
TRUSTED_SECONDS = 3.0
LATE_SECONDS = 15.0
"""A runner that answered so lately is waited for, though its last answer is too old to go by."""
MOST_AT_ONCE = 1024
"""So that hosts which answer nothing leave the others their turn of each second."""
_LONGEST_ANSWER_BYTES = LONGEST_IDENTITY_BYTES + 1024
_NEVER = float("-inf")


class Suspects:
    """What is known of them; `came` is called when one answers that did not before."""

    def __init__(self, came: Callable[[], None], *, clock: Clock = SYSTEM) -> None:
        self._clock = clock
        self._came = came
        self._news = asyncio.Event()
        self._answered_at: dict[Suspect, float | None] = {}
        """When each answered last; None for one that was not asked yet."""

    def keep_only(self, snapshot: Snapshot) -> None:
        """Forget those that are none any more, and ask new ones at once."""
        known = self._answered_at
        self._answered_at = {each: known.get(each) for each in _suspects_in(snapshot)}
        if None in self._answered_at.values():
            self._news.set()

    def answering(self, deployment: Deployment) -> Iterator[Replica]:
        """Yield the deployment's suspects that may be chosen."""
        fresh = self._clock.monotonic() - TRUSTED_SECONDS
        for each in deployment.suspects:
            if (self._answered_at.get(each) or _NEVER) >= fresh:
                yield each.replica

    def may_answer(self, deployment: Deployment) -> bool:
        """Return whether it is worth a moment to wait for one: not asked yet, or late."""
        lately = self._clock.monotonic() - LATE_SECONDS
        return any(self._heard_since(each, lately) for each in deployment.suspects)

    def _heard_since(self, suspect: Suspect, moment: float) -> bool:
        answered_at = self._answered_at.get(suspect)
        return answered_at is None or answered_at >= moment

    async def run(self) -> None:
        """Ask all of them once a second, and new ones at once."""
        while True:
            self._news.clear()
            await self.ask()
            with suppress(TimeoutError):
                async with self._clock.timeout(ASK_SECONDS):
                    await self._news.wait()

    async def ask(self) -> None:
        """Ask each of them once."""
        at_once = asyncio.Semaphore(MOST_AT_ONCE)
        await asyncio.gather(*(self._ask(each, at_once) for each in list(self._answered_at)))

    async def _ask(self, suspect: Suspect, at_once: asyncio.Semaphore) -> None:
        async with at_once:
            lives = await self._tells_who_it_is(suspect)
        if suspect not in self._answered_at:
            return
        before = self._answered_at[suspect]
        self._answered_at[suspect] = self._clock.monotonic() if lives else before or _NEVER
        if lives and (before or _NEVER) < self._clock.monotonic() - TRUSTED_SECONDS:
            self._came()

    async def _tells_who_it_is(self, suspect: Suspect) -> bool:
        try:
            async with self._clock.timeout(ASK_SECONDS):
                return suspect.identity.is_told_by(await _identity_at(suspect))
        except (TimeoutError, OSError, ValueError, OverflowError):
            return False


async def _identity_at(suspect: Suspect) -> bytes:
    """Return the body of what answers there. Raises OSError or ValueError."""
    host = suspect.replica.host
    reader, writer = await asyncio.open_connection(host, suspect.probe_port)
    try:
        name = f"[{host}]" if ":" in host else host
        asked = f"GET {IDENTITY_PATH} HTTP/1.1\r\nhost: {name}:{suspect.probe_port}\r\n\r\n"
        writer.write(asked.encode())
        answer = await _whole(reader)
    finally:
        writer.close()
    head, _, body = answer.partition(b"\r\n\r\n")
    if not head.startswith(b"HTTP/1.1 200 "):
        raise ValueError("something else answers")
    return body


async def _whole(reader: asyncio.StreamReader) -> bytes:
    answer = bytearray()
    while piece := await reader.read(_LONGEST_ANSWER_BYTES):
        answer += piece
        if len(answer) > _LONGEST_ANSWER_BYTES:
            raise ValueError("the answer is too long")
    return bytes(answer)


def _suspects_in(snapshot: Snapshot) -> Iterator[Suspect]:
    for model in snapshot.models.values():
        for deployment in model.deployments.values():
            yield from deployment.suspects
