"""What a ready TensorRT-LLM says of its memory: its version page and its log.

Source: TensorRT-LLM 1.2, `_torch/pyexecutor/_util.py`, lines about memory usage profiling, checked
2026-11-27; not yet run by us.
"""

import re
from typing import Any

from workers.runtimes.launcher import Ask
from workers.runtimes.reading_reports import (
    GIB,
    answered_version,
    in_bytes,
    known_readings,
    last_number,
    whole,
)

_WEIGHTS = re.compile(
    r"Memory used after loading model weights \(inside torch\)[^:]*: ([\d.]+) GiB"
)
_CACHE = re.compile(r"available KV cache memory[^:]*: ([\d.]+) GiB")
_TOKEN_BYTES = re.compile(r"kv size (?:per token )?is ([\d.]+)")


def read_report(ask: Ask, log: str) -> dict[str, Any] | None:
    """Return bytes and tokens under the names that the pages compare with the plan."""
    cache, token_bytes = last_number(_CACHE, log), last_number(_TOKEN_BYTES, log)
    return known_readings(
        {
            "engine": "trtllm",
            "version": answered_version(ask),
            "weights_bytes": in_bytes(last_number(_WEIGHTS, log)),
            "kv_cache_bytes": in_bytes(cache),
            "kv_tokens": whole(cache * GIB / token_bytes) if cache and token_bytes else None,
        }
    )
