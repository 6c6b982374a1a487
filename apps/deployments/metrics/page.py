"""The Prometheus page of a team's deployments, under the hosted product's names.

Source: its list of supported metrics, read 2026-11-27. Here `status_code` is a class, such as
`2xx`, times to first byte are of streamed requests only, and token counts come from the gateways
for every engine.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from apps.accounts.models import Team
from apps.deployments.metrics.exposition import family, histogram, labels_text, sample
from apps.deployments.models import Deployment, Environment, Replica, SweepRecord
from apps.fleet.selectors import clocks_apart
from apps.telemetry.buckets import BUCKET_BOUNDS_SECONDS
from apps.telemetry.selectors import UsageTotal, usage_totals
from controlplane.domain.lifecycle import ReplicaState

_BASE = ("model_id", "model_name", "deployment_id", "environment", "rollout_phase")
_STATUS = {0: "499", 2: "2xx", 4: "4xx", 5: "5xx"}
_STARTING = (ReplicaState.ORDERED, ReplicaState.STARTING, ReplicaState.LOADING)
_BOUNDS = (*(str(float(bound)) for bound in BUCKET_BOUNDS_SECONDS), "+Inf")


def metrics_page(*, team: Team) -> bytes:
    """Return the exposition text for every deployment of the team.

    On the page of the default team, what the installation counts of itself comes last.
    """
    shown = _shown(team)
    lines = [*_usage(shown), *_replicas(team, shown)]
    if team.is_default:
        lines += _installation()
    return "".join(lines).encode()


@dataclass(frozen=True, slots=True)
class _Shown:
    """A deployment with what its labels say."""

    model_id: str
    model_name: str
    id: str
    places: tuple[str, ...]
    is_promoting: bool

    def labels(self, environment: str | None = None) -> str:
        named = environment if environment is not None else next(iter(self.places), "")
        phase = "promoting" if self.is_promoting else "stable" if self.places else ""
        return labels_text(_BASE, (self.model_id, self.model_name, self.id, named, phase))


def _shown(team: Team) -> dict[str, _Shown]:
    current, promoting = _places(team)
    rows = Deployment.objects.filter(model__team=team).order_by("-created_at", "id")
    return {
        id: _Shown(model_id, name, id, tuple(sorted(current.get(id, ()))), id in promoting)
        for id, model_id, name in rows.values_list("id", "model_id", "model__name")
    }


def _places(team: Team) -> tuple[Mapping[str, list[str]], set[str]]:
    """Return which environments each deployment serves, and which ones are to serve one."""
    current: dict[str, list[str]] = defaultdict(list)
    promoting: set[str] = set()
    rows = Environment.objects.filter(model__team=team)
    for name, serving, candidate in rows.values_list("name", "current_id", "candidate_id"):
        if serving is not None:
            current[serving].append(name)
        if candidate is not None:
            promoting.add(candidate)
    return current, promoting


def _usage(shown: Mapping[str, _Shown]) -> Iterator[str]:
    totals = usage_totals(deployment_ids=list(shown))
    labelled = [(_by_status(shown[each.deployment_id], each), each) for each in totals]
    name = "baseten_inference_requests_total"
    requests = [sample(name, labels, total.requests) for labels, total in labelled]
    yield from family(name, "counter", "Requests that ended.", requests)
    name = "baseten_end_to_end_response_time_seconds"
    whole = [
        line
        for labels, each in labelled
        for line in histogram(name, labels, _BOUNDS, each.duration_buckets, each.duration_seconds)
    ]
    yield from family(name, "histogram", "From request to last byte.", whole)
    name = "baseten_time_to_first_byte_seconds"
    first = [
        line
        for labels, each in labelled
        for line in histogram(
            name, labels, _BOUNDS, each.first_byte_buckets, each.first_byte_seconds
        )
    ]
    words = "From request to first byte, of streamed requests only."
    yield from family(name, "histogram", words, first)
    yield from _tokens(shown, totals)


def _by_status(deployment: _Shown, total: UsageTotal) -> str:
    status = f'status_code="{_STATUS[total.status_class]}",is_async="false"'
    return f"{deployment.labels(total.environment)},{status}"


def _tokens(shown: Mapping[str, _Shown], totals: list[UsageTotal]) -> Iterator[str]:
    read: dict[str, int] = defaultdict(int)
    written: dict[str, int] = defaultdict(int)
    for total in totals:
        labels = shown[total.deployment_id].labels(total.environment)
        read[labels] += total.prompt_tokens
        written[labels] += total.completion_tokens
    for name, words, counts in (
        ("baseten_llm_input_tokens_total", "Prompt tokens.", read),
        ("baseten_llm_output_tokens_total", "Answer tokens.", written),
    ):
        lines = [sample(name, labels, count) for labels, count in counts.items()]
        yield from family(name, "counter", words, lines)


def _replicas(team: Team, shown: Mapping[str, _Shown]) -> Iterator[str]:
    active, starting, running = (dict.fromkeys(shown, 0.0) for _ in range(3))
    live = Replica.objects.filter(
        deployment__model__team=team, state__in=(ReplicaState.READY, *_STARTING)
    ).order_by("id")
    for id, state, metrics in live.values_list("deployment_id", "state", "metrics"):
        if id not in shown:  # made since
            continue
        if state == ReplicaState.READY:
            active[id] += 1
            running[id] += _in_flight(metrics)
        else:
            starting[id] += 1
    labels = {id: each.labels() for id, each in shown.items()}
    for name, words, values in (
        ("baseten_replicas_active", "Ready replicas.", active),
        ("baseten_replicas_starting", "On their way.", starting),
        ("baseten_concurrent_requests", "In engines, running and waiting.", running),
    ):
        yield from family(
            name, "gauge", words, [sample(name, labels[id], values[id]) for id in shown]
        )


def _in_flight(metrics: Mapping[str, Any] | None) -> float:
    said = metrics or {}
    return float(said.get("requests_running", 0)) + float(said.get("requests_waiting", 0))


def _installation() -> Iterator[str]:
    record = SweepRecord.objects.filter(id=1).first()
    name = "enginehouse_reconcile_missed_total"
    words = "Deployments that needed a move that nothing had called for: each is a fault."
    missed = record.missed if record else 0
    yield from family(name, "counter", words, [sample(name, "", missed)])
    name = "enginehouse_clock_ahead_seconds"
    words = "Of the database's clock, where it is more than a minute; negative where behind."
    apart = [
        sample(name, labels_text(("kind", "name"), (kind, who)), ahead)
        for kind, who, ahead in clocks_apart()
    ]
    yield from family(name, "gauge", words, apart)
