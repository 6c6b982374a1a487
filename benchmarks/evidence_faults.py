"""What was done to the product on a GPU, what it said of that, and when it was over."""

from collections.abc import Mapping
from typing import Any

from benchmarks.evidence_table import about, one_line, table

_COLUMNS = ("done", "said", "told after", "over")
_NOTE = "Seconds count from what was done; those of a stranger before calibration from its end."
"""For results that do not say it themselves, as the first ones did not."""


def told(name: str, found: Mapping[str, Any]) -> str:
    """Return one row a fault, with the product's own words."""
    rows = [
        (each["done"], _said(each["said"]), _seconds(each["said_after_seconds"]),
         f"{_seconds(each['recovered_after_seconds'])} {each.get('recovered', '')}".strip())
        for each in found.get("faults", ())
    ]  # fmt: skip
    if found.get("state", "done") != "done":
        rows.append(("the stage", f"failed: {one_line(found['reason'])}", "–", "–"))
    is_said = all("recovered" in each for each in found.get("faults", ()))
    title = about("Faults on a GPU", name)
    return table(title, name, found, _COLUMNS, rows, () if is_said else ("", _NOTE))


def _said(failure: Mapping[str, Any] | None) -> str:
    if not failure:
        return "nothing"
    code = f"`{failure['code']}`: " if failure.get("code") else ""
    return f"{code}{one_line(failure['sentence'])}"


def _seconds(value: float | None) -> str:
    return "–" if value is None else f"{value:.1f} s"
