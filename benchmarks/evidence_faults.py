"""What was done to the product on a card, what it said of that, and when it was over."""

from collections.abc import Mapping
from typing import Any

from benchmarks.evidence_table import one_line, table

_COLUMNS = ("done", "said", "told after", "over after")


def told(name: str, found: Mapping[str, Any]) -> str:
    """Return one row a fault, with the product's own words."""
    rows = [
        (each["done"], _said(each["said"]), _seconds(each["said_after_seconds"]),
         _seconds(each["recovered_after_seconds"]))
        for each in found["faults"]
    ]  # fmt: skip
    note = "Seconds count from the fault; what is over came back by itself, or once it was retried."
    return table("Faults on a card", name, found, _COLUMNS, rows, ["", note])


def _said(failure: Mapping[str, Any] | None) -> str:
    if not failure:
        return "nothing"
    code = f"`{failure['code']}`: " if failure.get("code") else ""
    return f"{code}{one_line(failure['sentence'])}"


def _seconds(value: float | None) -> str:
    return "–" if value is None else f"{value:.1f} s"
