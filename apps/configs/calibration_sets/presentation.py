from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from apps.configs.calibration_sets.models import CalibrationPreview, CalibrationSet
from apps.ui import formats
from apps.ui.tones import title
from controlplane.domain.lifecycle import StepState


@dataclass(frozen=True, kw_only=True)
class SetRow:
    set: CalibrationSet
    last: Any
    configs: Sequence[Any]

    @property
    def rows_words(self) -> str:
        return rows_words(self.last)


SET_SORTS: Mapping[str, Callable[[SetRow], Any]] = {
    "name": lambda row: row.set.name,
    "rows": lambda row: row.last.rows,
    "size": lambda row: row.last.size_bytes,
    "uploaded": lambda row: row.last.created_at,
}
"""What the columns of their page sort by."""


def set_rows(
    sets: Sequence[CalibrationSet], naming: Mapping[str, Sequence[Any]]
) -> Sequence[SetRow]:
    """Return the lines of the list; a set always has a version."""
    return [
        SetRow(set=each, last=each.versions.all()[0], configs=naming[each.name]) for each in sets
    ]


def rows_words(version: Any) -> str:
    """Return `1,200 rows, 3 empty, 12 short`."""
    words = [f"{formats.number(version.rows)} rows"]
    words += [f"{formats.number(version.empty_rows)} empty"] * bool(version.empty_rows)
    words += [f"{formats.number(version.short_rows)} short"] * bool(version.short_rows)
    return ", ".join(words)


def preview_context(preview: CalibrationPreview) -> dict[str, Any]:
    return {
        "preview": preview,
        "told": preview.result,
        "failure": preview.failure,
        "skipped": skipped_words(preview.result) if preview.result else "",
        "is_open": preview.state in (StepState.WAITING, StepState.RUNNING),
        "tab_title": title(preview.state, f"{preview.dataset} as {preview.revision.config.name}"),
    }


def skipped_words(counts: Mapping[str, Any]) -> str:
    """Return which rows were passed over and why: `2 empty, 1 too short`; empty for none."""
    reasons = {
        "empty": counts["skipped_empty"],
        "too short": counts["skipped_short"],
        "repeated": counts["skipped_duplicate"],
    }
    return ", ".join(f"{formats.number(count)} {why}" for why, count in reasons.items() if count)
