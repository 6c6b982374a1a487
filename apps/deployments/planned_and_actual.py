"""What a build planned of memory beside what an engine reports after its start."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from apps.deployments.models import Replica
from apps.ui import formats

_DTYPES = {2: "bfloat16", 4: "float32"}
"""Of the native engine, by the bytes of a number in its plan."""


@dataclass(frozen=True, kw_only=True)
class Compared:
    label: str
    planned: str
    reported: str
    difference: str


def comparison_of(
    plan: Mapping[str, Any] | None, replicas: Sequence[Replica]
) -> tuple[str, Sequence[Compared]]:
    """Return the replica that reported last, and its numbers beside the plan's."""
    reporting = next((each for each in replicas if each.report and each.ready_at), None)
    if reporting is None or plan is None:
        return "", []
    report: Mapping[str, Any] = reporting.report or {}
    per_gpu, capacity = plan.get("per_gpu", {}), plan.get("capacity", {})
    pairs = (
        ("Weights", per_gpu.get("weights_bytes"), report.get("weights_bytes"), formats.size),
        ("KV cache", per_gpu.get("kv_cache_bytes"), report.get("kv_cache_bytes"), formats.size),
        ("Tokens it holds", capacity.get("kv_tokens"), report.get("kv_tokens"), formats.number),
    )
    rows = [
        Compared(
            label=label,
            planned=write(planned),
            reported=write(reported),
            difference=_difference(planned, reported),
        )
        for label, planned, reported, write in pairs
        if planned is not None and reported is not None
    ]
    return reporting.id, [*_computed_in(plan, report), *rows]


def _computed_in(plan: Mapping[str, Any], report: Mapping[str, Any]) -> Sequence[Compared]:
    """Return the row of the native engine's data type; no other engine reports its own."""
    planned = _DTYPES.get(plan.get("kv_cache", {}).get("element_bytes"))
    reported = report.get("dtype")
    if planned is None or reported is None:
        return []
    words = formats.ABSENT if planned == reported else "as this processor has it"
    return [Compared(label="Computes in", planned=planned, reported=reported, difference=words)]


def _difference(planned: float, reported: float) -> str:
    if not planned:
        return formats.ABSENT
    share = (reported - planned) / planned
    return f"{share:+.1%}".replace("%", f"{formats.THIN_SPACE}%").replace("-", "−")
