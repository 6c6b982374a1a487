"""Streams at an OpenAI-shaped address: how many tokens a second come back, for so many at once."""

import asyncio
import json
import time
from typing import Any
from urllib.parse import urlsplit

PROMPT = "Write a long story about a lighthouse keeper."


def tokens_per_second(
    url: str, *, headers: dict[str, str], model: str, streams: int, tokens: int
) -> dict[str, Any]:
    """Return the rate over all streams, each of exactly `tokens` tokens."""
    return asyncio.run(_measure(url, headers, model, streams, tokens))


async def _measure(
    url: str, headers: dict[str, str], model: str, streams: int, tokens: int
) -> dict[str, Any]:
    started = time.perf_counter()
    counted = await asyncio.gather(
        *(_stream(url, headers, model, tokens, number) for number in range(streams))
    )
    seconds = time.perf_counter() - started
    total = sum(counted)
    return {
        "streams": streams,
        "tokens": total,
        "seconds": round(seconds, 3),
        "tokens_per_second": round(total / seconds, 1),
    }


async def _stream(url: str, headers: dict[str, str], model: str, tokens: int, number: int) -> int:
    parts = urlsplit(url)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
    body = json.dumps(
        {"model": model, "max_tokens": tokens, "stream": True, "temperature": 0,
         "ignore_eos": True, "stream_options": {"include_usage": True},
         "messages": [{"role": "user", "content": f"{number}. {PROMPT}"}]}
    ).encode()  # fmt: skip
    lines = [f"POST {parts.path}/chat/completions HTTP/1.1", f"Host: {parts.netloc}",
             "Content-Type: application/json", f"Content-Length: {len(body)}",
             "Connection: close",
             *(f"{name}: {value}" for name, value in headers.items())]  # fmt: skip
    writer.write("\r\n".join([*lines, "", ""]).encode() + body)
    answer = b""
    while piece := await reader.read(1 << 16):
        answer = (answer + piece)[-4096:]
        if b"[DONE]" in answer:
            break
    writer.close()
    _, _, usage = answer.rpartition(b'"completion_tokens":')
    digits = usage.split(b",")[0].split(b"}")[0].strip()
    if not digits.isdigit():
        raise RuntimeError(f"{url} answered without usage: {answer[-400:]!r}")
    return int(digits)
