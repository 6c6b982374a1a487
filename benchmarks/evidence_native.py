"""What the native engine answered on GPUs, beside Transformers on the same GPU."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from benchmarks.evidence_table import amount, section

_GIB = 1024**3
_PLANNED = {"weights": "weights_bytes", "KV cache": "kv_cache_bytes", "KV tokens": "kv_tokens"}


def compared(name: str, found: Mapping[str, Any]) -> str:
    """Return the answers of the engine by itself, and how its own tests for a GPU ended."""
    rows = [
        ("answers", _alike(found)),
        ("the others", _parted(found["rows"])),
        ("one stream", f"{found['tokens_per_second_one_stream']} tokens per second"),
        *_tests(found.get("tests")),
    ]
    return section("The native engine on a GPU", name, found, rows)


def deployed(name: str, found: Mapping[str, Any]) -> str:
    """Return its answers behind the gateway, and its memory beside the plan."""
    kept = found["memory"]
    planned, statement = kept["planned"], kept["report"]
    most = sum(size for key, size in planned.items() if key.endswith("_bytes"))
    rows = [
        ("answers behind the gateway", _alike(found)),
        ("the others", _parted(found["rows"])),
        ("computed in", f"{statement['dtype']} on {statement['device']}"),
        ("from the order to active", f"{found['seconds_to_active']} s"),
        ("one stream", f"{found['tokens_per_second_one_stream']} tokens per second"),
        *((words, f"{amount(key, planned[key])} planned, {amount(key, statement[key])} reported")
          for words, key in _PLANNED.items()),
        ("taken of the GPU", f"{kept['taken_of_the_device_bytes'] / _GIB:.3f} GiB; planned at "
                              f"most {most / _GIB:.3f} GiB"),
    ]  # fmt: skip
    return section("The native engine through the product", name, found, rows)


def _alike(found: Mapping[str, Any]) -> str:
    return f"{found['identical']} of {found['of']} the same text as Transformers', greedy, bfloat16"


def _parted(rows: Iterable[Mapping[str, Any]]) -> str:
    """Return where the answers that are not the same part, and how near the best two were."""
    entries = [f"parts at token {row['part_at_token']}, where the best two lie "
            f"{row['gap_of_best_two_there']} apart" for row in rows if not row["same"]]  # fmt: skip
    return "; ".join(entries) or "none"


def _tests(tests: Mapping[str, Any] | None) -> Iterator[tuple[str, str]]:
    if tests is None:
        return
    yield f"`{tests['file']}`", f"{tests['passed']} passed, {len(tests['failed'])} failed"
    yield from (("failed", f"`{each}`") for each in tests["failed"])
    if tests.get("exit") and not tests["failed"]:
        yield "pytest", f"ended with status {tests['exit']} before it told of any test"
