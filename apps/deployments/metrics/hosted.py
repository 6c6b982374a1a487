"""Series in the hosted product's shape: its names, modes, descriptors and value sets.

Source: its OpenAPI document, read 2026-08-22: `ModelMetricDescriptorV1`, `ModelMetricValueSetV1`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from apps.rest.errors import InvalidInput
from apps.telemetry.series.names import BY_NAME, CUTS
from apps.telemetry.series.points import PERCENTILES
from apps.telemetry.series.selectors import Answer, query, step_of

PREFIX = "baseten_"
DEFAULT = ("replicas_active", "inference_requests_total", "end_to_end_response_time_seconds")
_LATEST = timedelta(seconds=60)
_FOLDED = timedelta(seconds=20)
"""What is younger may not be rolled up yet."""
_MEBIBYTE = 1024**2


class Mode(StrEnum):
    CURRENT = "CURRENT"
    """Of the latest minute."""
    SUMMARY = "SUMMARY"
    """Of the whole range."""
    SERIES = "SERIES"
    """Of each step of it."""


@dataclass(frozen=True, kw_only=True)
class _Metric:
    series: str
    unit_hint: str
    kind: str
    statistics: Mapping[str, Mapping[str, str]] = field(default_factory=lambda: {"mean": {}})
    """Ours -> labels that tell it from its neighbours."""
    group_by: Mapping[str, str] = field(default_factory=dict)
    """Our label -> theirs."""
    divided_by: float = 1.0


def _rate(series: str, **more: Any) -> _Metric:
    return _Metric(series=series, unit_hint="PER_SECOND", kind="COUNTER",
                   statistics={"per_second": {}}, **more)  # fmt: skip


def _times(series: str) -> _Metric:
    quantiles = {name: {"quantile": name} for name in PERCENTILES}
    return _Metric(series=series, unit_hint="SECONDS", kind="HISTOGRAM", statistics=quantiles)


_OF_GPU = {"replica_id": "replica", "device_id": "gpu"}
_METRICS: Mapping[str, _Metric] = {
    "inference_requests_total": _rate("requests", group_by={"status_class": "status_code"}),
    "end_to_end_response_time_seconds": _times("end_to_end_seconds"),
    "time_to_first_byte_seconds": _times("time_to_first_token_seconds"),
    "concurrent_requests": _Metric(series="requests_running", unit_hint="COUNT", kind="GAUGE"),
    "replicas_active": _Metric(series="replicas_ready", unit_hint="COUNT", kind="GAUGE"),
    "replicas_starting": _Metric(series="replicas_starting", unit_hint="COUNT", kind="GAUGE"),
    "gpu_memory_used": _Metric(
        series="device_memory_used_bytes", unit_hint="MEBIBYTES", kind="GAUGE", group_by=_OF_GPU,
        divided_by=_MEBIBYTE,
    ),
    "gpu_utilization": _Metric(
        series="device_utilization_ratio", unit_hint="RATIO", kind="GAUGE", group_by=_OF_GPU
    ),
    "llm_input_tokens_total": _rate("prompt_tokens"),
    "llm_output_tokens_total": _rate("completion_tokens"),
    "llm_spec_decode_num_accepted_tokens_total": _rate("accepted_draft_tokens"),
    "llm_spec_decode_num_draft_tokens_total": _rate("draft_tokens"),
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Scope:
    """Whose metrics: a model's, one deployment's, or those of what an environment points at."""

    team_id: str
    filters: Mapping[str, str]
    """Label -> value. What a series is not kept by is left out."""


def hosted_metrics(
    *,
    scope: Scope,
    mode: Mode,
    names: Sequence[str],
    start: datetime | None,
    end: datetime | None,
    now: datetime,
) -> dict[str, Any]:
    """Return the answer in the hosted product's shape. Raises InvalidInput."""
    metrics = {name: _metric(name) for name in names or DEFAULT}
    until = end or now - (_FOLDED if mode is Mode.CURRENT else timedelta())
    since = until - _LATEST if mode is Mode.CURRENT else start or until - timedelta(hours=1)
    step = max(_step(each, scope, since, until, now) for each in metrics.values())
    answers = {
        name: query(
            each.series, start=since, end=until, team_id=scope.team_id, now=now,
            filters=_filters(each, scope), group_by=list(each.group_by),
            as_one=mode is not Mode.SERIES, step_seconds=step,
        )
        for name, each in metrics.items()
    }  # fmt: skip
    first = next(iter(answers.values()))
    return {
        "start_epoch_millis": _millis(since),
        "end_epoch_millis": _millis(until),
        "mode": mode,
        "step_seconds": first.step_seconds if mode is Mode.SERIES else None,
        "metric_descriptors": [_descriptor(name, metrics[name], answers[name]) for name in metrics],
        "metric_values": [
            {
                "start_epoch_millis": at * 1000,
                "values": [_values(metrics[name], answers[name], place) for name in metrics],
            }
            for place, at in enumerate(first.times)
        ],
    }


def _metric(name: str) -> _Metric:
    metric = _METRICS.get(name.removeprefix(PREFIX))
    if metric is None:
        raise InvalidInput(
            f"There is no metric `{name}`.",
            fields=["metrics"],
            hint=f"There are {', '.join(f'`{each}`' for each in _METRICS)}.",
        )
    return metric


def _step(metric: _Metric, scope: Scope, since: datetime, until: datetime, now: datetime) -> int:
    return step_of(
        metric.series, start=since, end=until, team_id=scope.team_id, now=now,
        filters=_filters(metric, scope), group_by=list(metric.group_by),
    )  # fmt: skip


def _filters(metric: _Metric, scope: Scope) -> dict[str, list[str]]:
    series = BY_NAME[metric.series]
    known = {label for cut in CUTS[series.source].values() for label in cut}
    return {name: [value] for name, value in scope.filters.items() if name in known}


def _descriptor(name: str, metric: _Metric, answer: Answer) -> dict[str, Any]:
    labels = [
        {metric.group_by[label]: value for label, value in line.labels.items()} | dict(more)
        for line in answer.lines
        for more in metric.statistics.values()
    ]
    return {"name": name, "unit_hint": metric.unit_hint, "kind": metric.kind,
            "label_sets": labels}  # fmt: skip


def _values(metric: _Metric, answer: Answer, place: int) -> list[float | None]:
    values = (line.values[name][place] for line in answer.lines for name in metric.statistics)
    return [None if each is None else each / metric.divided_by for each in values]


def _millis(at: datetime) -> int:
    return int(at.timestamp() * 1000)
