"""What a ready vLLM says of its memory: its metrics page, its version page and its log.

Source: vLLM 0.25.1, `v1/worker/gpu_model_runner.py`, `v1/core/kv_cache_utils.py`,
`v1/worker/gpu_worker.py` and the gauge `vllm:cache_config_info`, checked 2026-11-28.
"""

import json
import re
from typing import Any

from workers.runtimes.launcher import Ask

GIB = 1024**3
_WEIGHTS = re.compile(r"Model loading took ([\d.]+) GiB")
_CACHE_BYTES = re.compile(r"Available KV cache memory: ([\d.]+) GiB")
_CACHE_TOKENS = re.compile(r"GPU KV cache size: ([\d,]+) tokens")
_BLOCKS = re.compile(r'vllm:cache_config_info\{[^}]*?num_gpu_blocks="(\d+)"')
_BLOCK_SIZE = re.compile(r'vllm:cache_config_info\{[^}]*?block_size="(\d+)"')


def read_report(ask: Ask, log: str) -> dict[str, Any] | None:
    """Return bytes and tokens under the names that the pages compare with the plan."""
    page = (ask("/metrics") or b"").decode(errors="replace")
    found = {
        "engine": "vllm",
        "version": _version(ask("/version")),
        "weights_bytes": _gib(_WEIGHTS, log),
        "kv_cache_bytes": _gib(_CACHE_BYTES, log),
        "kv_tokens": _tokens(page, log),
    }
    told = {name: value for name, value in found.items() if value is not None}
    return told if len(told) > 1 else None


def _version(answer: bytes | None) -> str | None:
    try:
        content = json.loads(answer or b"null")
    except ValueError:
        return None
    return str(content["version"]) if isinstance(content, dict) and "version" in content else None


def _gib(pattern: re.Pattern[str], log: str) -> int | None:
    """Return the bytes that the log's last such line tells."""
    told = pattern.findall(log)
    return round(float(told[-1]) * GIB) if told else None


def _tokens(page: str, log: str) -> int | None:
    """Return the tokens that the cache holds, as logged; counted in blocks where that is gone."""
    if told := _CACHE_TOKENS.findall(log):
        return int(told[-1].replace(",", ""))
    blocks, size = _BLOCKS.search(page), _BLOCK_SIZE.search(page)
    return int(blocks[1]) * int(size[1]) if blocks and size else None
