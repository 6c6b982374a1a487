"""What a ready vLLM says of its memory: its metrics page, its version page and its log.

Source: vLLM 0.25.1 to 0.33.0, `v1/worker/gpu_model_runner.py`, `v1/core/kv_cache_utils.py`,
`v1/worker/gpu_worker.py` and the gauge `vllm:cache_config_info`, checked 2026-11-28.
"""

import re
from typing import Any

from workers.runtimes.launcher import Ask
from workers.runtimes.reading_reports import answered_version, in_bytes, known_readings, last_number

_WEIGHTS = re.compile(r"Model loading took ([\d.]+) GiB")
_CACHE_BYTES = re.compile(r"Available KV cache memory: ([\d.]+) GiB")
_CACHE_TOKENS = re.compile(r"KV cache size: ([\d,]+) tokens")
_BLOCKS = re.compile(r'vllm:cache_config_info\{[^}]*?num_gpu_blocks="(\d{1,15})"')
_BLOCK_SIZE = re.compile(r'vllm:cache_config_info\{[^}]*?block_size="(\d{1,15})"')


def read_report(ask: Ask, log: str) -> dict[str, Any] | None:
    """Return bytes and tokens under the names that the pages compare with the plan."""
    page = (ask("/metrics") or b"").decode(errors="replace")
    return known_readings(
        {
            "engine": "vllm",
            "version": answered_version(ask),
            "weights_bytes": in_bytes(last_number(_WEIGHTS, log)),
            "kv_cache_bytes": in_bytes(last_number(_CACHE_BYTES, log)),
            "kv_tokens": _tokens(page, log),
        }
    )


def _tokens(page: str, log: str) -> int | None:
    """Return the tokens that the cache holds, as logged; counted in blocks where that is gone."""
    if (tokens := last_number(_CACHE_TOKENS, log)) is not None:
        return int(tokens)
    blocks, size = _BLOCKS.search(page), _BLOCK_SIZE.search(page)
    return int(blocks[1]) * int(size[1]) if blocks and size else None
