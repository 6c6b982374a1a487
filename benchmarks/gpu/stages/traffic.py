"""Requests at a deployment without a pause, each of them counted, while something happens there."""

import threading
import time
from collections import Counter
from collections.abc import Mapping
from itertools import pairwise
from types import TracebackType
from typing import Any, Self

import httpx2

from benchmarks.gpu.product import Show

_CLIENTS = 8
_TOKENS = 32


class Traffic:
    """Eight clients, each with its next request as soon as the last one is answered."""

    def __init__(self, show: Show, model: Mapping[str, Any]) -> None:
        self._url = f"{show.base_url(model)}/chat/completions"
        self._headers = {"Authorization": f"Bearer {show.api_key}"}
        self._ends = threading.Event()
        self._began = time.monotonic()
        self._marks: list[dict[str, Any]] = []
        self._seen: list[tuple[float, float, str]] = []
        self._threads = [threading.Thread(target=self._ask) for _ in range(_CLIENTS)]

    def __enter__(self) -> Self:
        for each in self._threads:
            each.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ends.set()
        for each in self._threads:
            each.join()

    def mark(self, words: str) -> None:
        """Note what happens now."""
        self._marks.append({"at_seconds": self._now(), "what": words})

    def told(self) -> dict[str, Any]:
        """Return how many requests ended how, between one mark and the next."""
        moments = [0.0, *(each["at_seconds"] for each in self._marks), float("inf")]
        spans = pairwise(moments)
        slowest = max((seconds for _, seconds, _ in self._seen), default=0.0)
        return {
            "clients": _CLIENTS,
            "marks": self._marks,
            "ended": [dict(Counter(how for at, _, how in self._seen if start <= at < end))
                      for start, end in spans],
            "slowest_seconds": round(slowest, 3),
        }  # fmt: skip

    def _ask(self) -> None:
        body = {"model": "any", "max_tokens": _TOKENS, "temperature": 0,
                "messages": [{"role": "user", "content": "Tell me of the sea."}]}  # fmt: skip
        with httpx2.Client(trust_env=False, timeout=60) as client:
            while not self._ends.is_set():
                began = self._now()
                how = self._once(client, body)
                self._seen.append((began, self._now() - began, how))

    def _once(self, client: httpx2.Client, body: Mapping[str, Any]) -> str:
        try:
            answer = client.post(self._url, json=body, headers=self._headers)
        except httpx2.HTTPError as error:
            return type(error).__name__
        if answer.status_code != httpx2.codes.OK:
            return f"{answer.status_code}: {answer.text[:200]}"
        return "answered"

    def _now(self) -> float:
        return round(time.monotonic() - self._began, 3)
