"""What a ready TensorRT-LLM says of its memory: its version page and its log.

Source: TensorRT-LLM 1.2, `_torch/pyexecutor/_util.py`, lines about memory usage profiling, checked
2026-11-27; not yet run by us.
"""

import json
import re
from typing import Any

from workers.runtimes.launcher import Ask

GIB = 1024**3
_WEIGHTS = re.compile(
    r"Memory used after loading model weights \(inside torch\)[^:]*: ([\d.]+) GiB"
)
_CACHE = re.compile(r"available KV cache memory[^:]*: ([\d.]+) GiB")
_TOKEN_BYTES = re.compile(r"kv size (?:per token )?is ([\d.]+)")


def read_report(ask: Ask, log: str) -> dict[str, Any] | None:
    """Return bytes and tokens under the names that the pages compare with the plan."""
    cache, token_bytes = _last(_CACHE, log), _last(_TOKEN_BYTES, log)
    weights = _last(_WEIGHTS, log)
    found = {
        "engine": "trtllm",
        "version": _version(ask("/version")),
        "weights_bytes": round(weights * GIB) if weights else None,
        "kv_cache_bytes": round(cache * GIB) if cache else None,
        "kv_tokens": int(cache * GIB / token_bytes) if cache and token_bytes else None,
    }
    told = {name: value for name, value in found.items() if value is not None}
    return told if len(told) > 1 else None


def _version(answer: bytes | None) -> str | None:
    try:
        content = json.loads(answer or b"null")
    except ValueError:
        return None
    return str(content["version"]) if isinstance(content, dict) and "version" in content else None


def _last(pattern: re.Pattern[str], log: str) -> float | None:
    """Return the number of the last such line."""
    told = [float(each.rstrip(".")) for each in pattern.findall(log)]
    return told[-1] if told else None
