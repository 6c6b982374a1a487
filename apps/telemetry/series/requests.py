"""What closed requests of a gateway's journal add to series."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from apps.telemetry.series.cells import Cell, Cells, Exemplar
from apps.telemetry.series.names import Source

if TYPE_CHECKING:
    from apps.telemetry.services.usage import UsageRecord

STATUS_NAMES = {0: "499", 2: "2xx", 4: "4xx", 5: "5xx"}
"""By the class that usage is counted in; `499` where the client left or the gateway was killed."""
_TWO_TOKENS = 2
_COUNTED = {
    "prompt_tokens": "prompt_tokens",
    "cached_prompt_tokens": "cached_tokens",
    "completion_tokens": "completion_tokens",
    "request_bytes": "request_bytes",
    "response_bytes": "response_bytes",
}
_TIMED = {
    "queue_seconds": "queue_seconds",
    "time_to_first_token_seconds": "first_token_seconds",
    "end_to_end_seconds": "duration_seconds",
}
"""Series -> what it takes of a record."""
_TALLIED = {**{name: field for name, field in _COUNTED.items() if "cached" not in name}, **_TIMED}
_WITH_EXEMPLARS = ("time_to_first_token_seconds", "end_to_end_seconds")
_LONGEST_ID = 100
"""What OpenMetrics has room for, beside the label's name."""


def request_cells(records: Iterable["UsageRecord"], team_ids: Mapping[str, str]) -> Cells:
    """Return what the records add; `team_ids` names the team of each model that is there."""
    cells = Cells()
    for record in records:
        labels = {
            "team_id": team_ids.get(record.model_id, ""),
            "model_id": record.model_id,
            "deployment_id": record.deployment_id,
            "environment": record.environment or "",
            "key_id": record.key_id,
            "replica_id": record.replica_id or "",
            "status_class": STATUS_NAMES[record.status_class],
        }
        _count(cells.at(Source.GATEWAY, record.at, labels), record)
    return cells


def _count(cell: Cell, record: "UsageRecord") -> None:
    cell.count("requests", 1)
    for name, field in _COUNTED.items():
        if (amount := getattr(record, field)) is not None:
            cell.count(name, amount)
    for name, field in _TIMED.items():
        if (seconds := getattr(record, field)) is not None:
            cell.observe(name, seconds)
    if (seconds := _between_tokens(record)) is not None:
        cell.observe("inter_token_seconds", seconds)
        if seconds > 0:
            cell.tally("tokens_per_second", 1 / seconds)
    _tally(cell, record)


def _tally(cell: Cell, record: "UsageRecord") -> None:
    for name, field in _TALLIED.items():
        if (value := getattr(record, field)) is not None:
            place = cell.tally(name, value)
            if name in _WITH_EXEMPLARS and len(record.request_id) <= _LONGEST_ID:
                cell.exemplars[place] = Exemplar(value, record.request_id, record.at)
    if record.cached_tokens is not None and record.prompt_tokens:
        cell.tally("kv_cache_hit_ratio", min(1.0, record.cached_tokens / record.prompt_tokens))


def _between_tokens(record: "UsageRecord") -> float | None:
    """Return the mean between two tokens of a streamed answer of two tokens at least."""
    first, last = record.first_token_seconds, record.duration_seconds
    tokens = record.completion_tokens or 0
    if first is None or last is None or tokens < _TWO_TOKENS:
        return None
    return max(0.0, last - first) / (tokens - 1)
