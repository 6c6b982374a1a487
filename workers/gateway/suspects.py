"""Replicas of nodes that the control plane does not hear: asked once a second whether they live.

One is chosen only while its runner's last answer named its deployment, generation and boot, and is
no older than a few seconds. Where the control plane alone cannot reach a host, nothing is lost so.
"""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from controlplane.clock import SYSTEM, Clock
from controlplane.domain.wire.identity import IDENTITY_PATH, LONGEST_IDENTITY_BYTES
from workers.gateway.routes_difference import Difference
from workers.gateway.snapshot import Deployment, Replica, Suspect

ASK_SECONDS = 1.0
TRUSTED_SECONDS = 3.0
ANSWER_SECONDS = TRUSTED_SECONDS
"""An answer that takes longer than a second is one: the host may be busy, or the gateway's own."""
LATE_SECONDS = 15.0
"""A runner that answered, or was heard by the control plane, so lately is waited for."""
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
        self._known: dict[Suspect, _Known] = {}
        self._under_way: set[Suspect] = set()
        self._at_once = asyncio.Semaphore(MOST_AT_ONCE)

    def follow(self, changed: Difference) -> None:
        """Forget those that are none any more, and ask new ones at once."""
        now = self._clock.monotonic()
        was = {each for before, _ in changed.deployments for each in _suspects_of(before)}
        named = {each for _, after in changed.deployments for each in _suspects_of(after)}
        for each in was - named:
            self._known.pop(each, None)
        for each in named - self._known.keys():
            self._known[each] = _Known(now)
            self._news.set()

    def answering(self, deployment: Deployment) -> Iterator[Replica]:
        fresh = self._clock.monotonic() - TRUSTED_SECONDS
        for each in deployment.suspects:
            if each in self._known and self._known[each].answered_at >= fresh:
                yield each.replica

    def may_answer(self, deployment: Deployment) -> bool:
        """Return whether it is worth a moment to wait for one: new, or late."""
        lately = self._clock.monotonic() - LATE_SECONDS
        return any(
            each in self._known and self._known[each].lived_at >= lately
            for each in deployment.suspects
        )

    async def run(self) -> None:
        """Ask all of them once a second, and new ones at once."""
        async with asyncio.TaskGroup() as rounds:
            while True:
                self._news.clear()
                rounds.create_task(self.ask())
                with suppress(TimeoutError):
                    async with self._clock.timeout(ASK_SECONDS):
                        await self._news.wait()

    async def ask(self) -> None:
        """Ask each of them once, but for those that were asked and may still answer."""
        addresses = self._known.keys() - self._under_way
        self._under_way |= addresses
        await asyncio.gather(*map(self._ask, addresses))

    async def _ask(self, suspect: Suspect) -> None:
        try:
            async with self._at_once:
                lives = await self._tells_who_it_is(suspect)
        finally:
            self._under_way.discard(suspect)
        if suspect in self._known:
            self._result(self._known[suspect], lives)

    def _result(self, known: "_Known", lives: bool | None) -> None:
        now = self._clock.monotonic()
        came = lives and known.answered_at < now - TRUSTED_SECONDS
        if lives:
            known.answered_at = now
        elif lives is False:
            known.since = _NEVER
        if came:
            self._came()

    async def _tells_who_it_is(self, suspect: Suspect) -> bool | None:
        """Return None where nobody said anything, which a busy host does too."""
        try:
            async with self._clock.timeout(ANSWER_SECONDS):
                return suspect.identity.is_in(await _identity_at(suspect))
        except TimeoutError:
            return None
        except (OSError, ValueError, OverflowError):
            return False


@dataclass
class _Known:
    """What is known of one suspect, in seconds of the gateway's clock."""

    since: float
    """When the control plane named it here; never, once something else answered in its place."""
    answered_at: float = _NEVER

    @property
    def lived_at(self) -> float:
        return max(self.since, self.answered_at)


async def _identity_at(suspect: Suspect) -> bytes:
    """Return the body of what answers there. Raises OSError or ValueError."""
    host = suspect.replica.host
    reader, writer = await asyncio.open_connection(host, suspect.probe_port)
    try:
        name = f"[{host}]" if ":" in host else host
        question = f"GET {IDENTITY_PATH} HTTP/1.1\r\nhost: {name}:{suspect.probe_port}\r\n\r\n"
        writer.write(question.encode())
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


def _suspects_of(deployment: Deployment | None) -> Sequence[Suspect]:
    return () if deployment is None else deployment.suspects
