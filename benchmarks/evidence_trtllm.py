"""What TensorRT-LLM answered on the GPU of an owner, by `gpu/trtllm.sh`."""

from collections.abc import Iterator, Mapping
from typing import Any

from benchmarks.evidence_table import amount, one_line, section

_REPORTED = {"weights": "weights_bytes", "KV cache": "kv_cache_bytes", "KV tokens": "kv_tokens"}


def asked(name: str, found: Mapping[str, Any]) -> str:
    """Return each answer, what the engine was, and the plan beside its report."""
    rows = [
        ("versions", one_line("; ".join(found["versions"]))),
        *((f"asked: {what}", _answer(each)) for what, each in found["answers"].items()),
        *_memory(found["memory"]),
        ("used of the GPU when ready", found["device_memory_mib"]["used_ready"]),
    ]
    return section("TensorRT-LLM on a GPU, from our files", name, found, rows)


def _answer(each: Mapping[str, Any]) -> str:
    word = "as asked" if each["as_asked"] else "NOT as asked"
    return f"{word}: status {each['status']} after {each['seconds']} s"


def _memory(memory: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    planned, statement = memory.get("planned", {}), memory["report"]
    for words, key in _REPORTED.items():
        if key in statement:
            before = f"{amount(key, planned[key])} planned, " if key in planned else ""
            yield words, f"{before}{amount(key, statement[key])} reported"
