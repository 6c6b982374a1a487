"""The quantization speed table that the benchmark runner measured on a GPU."""

from collections.abc import Mapping
from typing import Any

from benchmarks.evidence_table import table

_DOCUMENTED = {"no_quant": "1", "fp8": "2", "fp8_kv": "2.5"}
_WHAT = """
The shape of Qwen3-8B with random weights, in the forms that ModelOpt exports, under vLLM: three
engines on one GPU, started together and asked one after another by the product's load generator,
{prompt_tokens} tokens in and {completion_tokens} out. Documented: by the hosted product's guide."""


def measured(name: str, found: Mapping[str, Any]) -> str:
    """Return tokens a second of each precision and level, and their multiples of 16 bits."""
    rows = [
        (f"`{precision}`", *(_cell(found, precision, stage) for stage in stages),
         _DOCUMENTED[precision])
        for precision, stages in found["precisions"].items()
    ]  # fmt: skip
    levels = [f"{stage['level']:g} at once" for stage in next(iter(found["precisions"].values()))]
    columns = ("precision", *levels, "documented")
    more = [_WHAT.format(**found)]
    return table("Quantization speed on a GPU", name, found, columns, rows, more)


def _cell(found: Mapping[str, Any], precision: str, stage: Mapping[str, Any]) -> str:
    multiple = found["speedup"][precision][f"{stage['level']:g}"]
    return f"{stage['completion_tokens_per_second']:,.0f} tokens/s, {multiple:.2f} ×"
