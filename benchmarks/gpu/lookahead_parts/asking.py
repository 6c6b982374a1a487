"""Requests to one server, and what the server counted meanwhile."""

import hashlib
import json
import re
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, Self

from benchmarks.gpu.lookahead_parts.servers import Server

COUNTERS = ("num_drafts", "num_draft_tokens", "num_accepted_tokens")
_COUNTED = re.compile(r"^vllm:spec_decode_(\w+?)_total(?:\{[^}]*\})? ([\d.e+]+)$", re.MULTILINE)
SECONDS = 120


@dataclass(frozen=True, kw_only=True)
class Asked:
    """One request: token ids or text, and the answer that is recorded for it."""

    prompt: Any
    answer: list[int]
    tokens: int = 0

    def cut(self, tokens: int | None) -> Self:
        """Return the request for an answer of at most so many tokens."""
        return replace(self, tokens=min(tokens or self.most, self.most))

    @property
    def most(self) -> int:
        """The tokens that are asked for."""
        return self.tokens or len(self.answer)


def ask_at_once(
    server: Server, asked: Sequence[Asked], *, is_forced: bool = True, keeps_text: bool = False
) -> dict[str, Any]:
    """Return tokens a second, from the first token to the last, and of all with their prompts."""
    counters = server.counters_url or server.url
    before, began = _counted(counters), time.perf_counter()
    with ThreadPoolExecutor(len(asked)) as pool:
        answers = list(pool.map(lambda each: _streamed(server, each, began), asked))
    seconds = time.perf_counter() - began
    tokens = sum(len(each["tokens"]) for each in answers)
    with_prompt = sum(each["first_tokens"] for each in answers)
    first, last = min(each["first"] for each in answers), max(each["last"] for each in answers)
    values = {
        "requests": len(asked),
        "tokens": tokens,
        "seconds": round(seconds, 4),
        "decoding_seconds": round(last - first, 4),
        "tokens_per_second": round((tokens - with_prompt) / max(last - first, 1e-6), 1),
        "tokens_per_second_with_prompt": round(tokens / seconds, 1),
        **_told(before, _counted(counters)),
    }
    if is_forced and asked[0].answer:
        pairs = zip(answers, asked, strict=True)
        values["is_recorded_answer"] = all(a["tokens"] == b.answer[: b.most] for a, b in pairs)
    if keeps_text:
        values["token_ids"] = answers[0]["tokens"]
        values["digest"] = hashlib.sha256(json.dumps(answers[0]["tokens"]).encode()).hexdigest()
    return values


def _streamed(server: Server, asked: Asked, began: float) -> dict[str, Any]:
    body = {
        "model": "served", "prompt": asked.prompt, "max_tokens": asked.most, "temperature": 0,
        "ignore_eos": True, "stream": True, "return_token_ids": True,
    }  # fmt: skip
    headers = {"Content-Type": "application/json"}
    if server.key:
        headers["Authorization"] = f"Bearer {server.key}"
    request = urllib.request.Request(
        f"{server.url}/v1/completions", json.dumps(body).encode(), headers
    )
    tokens: list[int] = []
    first = last = 0.0
    first_tokens = 0
    with _opened(request) as answer:
        for line in answer:
            if not line.startswith(b"data: {"):
                continue
            for choice in json.loads(line[6:])["choices"]:
                if choice.get("token_ids"):
                    last = time.perf_counter() - began
                    tokens += choice["token_ids"]
                    first, first_tokens = (first, first_tokens) if first else (last, len(tokens))
    if len(tokens) != asked.most:
        raise RuntimeError(f"{len(tokens)} tokens came, and {asked.most} were asked for")
    return {"tokens": tokens, "first": first, "first_tokens": first_tokens, "last": last}


def _opened(request: urllib.request.Request) -> Any:
    """Return the answer; a refusal is told with its words."""
    try:
        return urllib.request.urlopen(request, timeout=SECONDS)
    except urllib.error.HTTPError as refused:
        raise RuntimeError(f"HTTP {refused.code}: {refused.read()[:500]!r}") from None


def _counted(url: str) -> Mapping[str, float]:
    with urllib.request.urlopen(f"{url}/metrics", timeout=SECONDS) as answer:
        page = answer.read().decode()
    return {name: float(value) for name, value in _COUNTED.findall(page) if name in COUNTERS}


def _told(before: Mapping[str, float], after: Mapping[str, float]) -> dict[str, float]:
    grown = {name: after[name] - before.get(name, 0) for name in after}
    drafts = grown.get("num_drafts", 0)
    accepted = grown.get("num_accepted_tokens", 0)
    per_draft = {"accepted_per_draft": round(accepted / drafts, 2)} if drafts else {}
    return {**grown, **per_draft}
