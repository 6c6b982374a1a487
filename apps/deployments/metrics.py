"""The Prometheus page of a team's deployments, under the hosted product's names.

Source: its list of supported metrics, read 2026-11-27. Here `status_code` is a class, such as
`2xx`, times to first byte are of streamed requests only, and token counts come from the gateways
for every engine.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
)
from prometheus_client.registry import Collector

from apps.accounts.models import Team
from apps.deployments.models import Deployment, Replica
from apps.deployments.selectors import deployment_list
from apps.telemetry.buckets import BUCKET_BOUNDS_SECONDS
from apps.telemetry.selectors import UsageTotal, usage_totals
from controlplane.domain.lifecycle import ReplicaState

Family: TypeAlias = CounterMetricFamily | GaugeMetricFamily | HistogramMetricFamily
_BASE = ("model_id", "model_name", "deployment_id", "environment", "rollout_phase")
_BY_STATUS = (*_BASE, "status_code", "is_async")
_STATUS = {0: "499", 2: "2xx", 4: "4xx", 5: "5xx"}
_STARTING = (ReplicaState.ORDERED, ReplicaState.STARTING, ReplicaState.LOADING)


def metrics_page(*, team: Team) -> bytes:
    """Return the exposition text for every deployment of the team."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Deployments(list(deployment_list(team=team))))
    return generate_latest(registry)


class _Deployments(Collector):
    def __init__(self, deployments: Sequence[Deployment]) -> None:
        self._deployments = {each.id: each for each in deployments}

    def describe(self) -> Iterable[Family]:
        return ()

    def collect(self) -> Iterator[Family]:
        yield from self._usage(usage_totals(deployment_ids=list(self._deployments)))
        yield from self._replicas()

    def _usage(self, totals: Sequence[UsageTotal]) -> Iterator[Family]:
        requests = CounterMetricFamily(
            "baseten_inference_requests", "Requests that ended.", labels=_BY_STATUS
        )
        whole = HistogramMetricFamily(
            "baseten_end_to_end_response_time_seconds", "From request to last byte.",
            labels=_BY_STATUS,
        )  # fmt: skip
        first = HistogramMetricFamily(
            "baseten_time_to_first_byte_seconds",
            "From request to first byte, of streamed requests only.",
            labels=_BY_STATUS,
        )
        prompt = CounterMetricFamily("baseten_llm_input_tokens", "Prompt tokens.", labels=_BASE)
        answer = CounterMetricFamily("baseten_llm_output_tokens", "Answer tokens.", labels=_BASE)
        tokens: dict[tuple[str, str], tuple[int, int]] = {}
        for total in totals:
            labels = self._labels(total.deployment_id, total.environment)
            by_status = [*labels, _STATUS[total.status_class], "false"]
            requests.add_metric(by_status, total.requests)
            _add(whole, by_status, total.duration_buckets, total.duration_seconds)
            _add(first, by_status, total.first_byte_buckets, total.first_byte_seconds)
            place = (total.deployment_id, total.environment)
            sofar = tokens.get(place, (0, 0))
            tokens[place] = (sofar[0] + total.prompt_tokens, sofar[1] + total.completion_tokens)
        for place, (read, written) in tokens.items():
            prompt.add_metric(self._labels(*place), read)
            answer.add_metric(self._labels(*place), written)
        yield from (requests, whole, first, prompt, answer)

    def _replicas(self) -> Iterator[Family]:
        active = GaugeMetricFamily("baseten_replicas_active", "Ready replicas.", labels=_BASE)
        starting = GaugeMetricFamily("baseten_replicas_starting", "On their way.", labels=_BASE)
        running = GaugeMetricFamily(
            "baseten_concurrent_requests", "In engines, running and waiting.", labels=_BASE
        )
        by_deployment: dict[str, list[Replica]] = {each: [] for each in self._deployments}
        live = (ReplicaState.READY, *_STARTING)
        for replica in Replica.objects.filter(
            deployment_id__in=self._deployments, state__in=live
        ).order_by("id"):
            by_deployment[replica.deployment_id].append(replica)
        for deployment_id, replicas in by_deployment.items():
            labels = self._labels(deployment_id, None)
            ready = [each for each in replicas if each.state == ReplicaState.READY]
            active.add_metric(labels, len(ready))
            starting.add_metric(labels, len(replicas) - len(ready))
            running.add_metric(labels, sum(_in_flight(each) for each in ready))
        yield from (active, starting, running)

    def _labels(self, deployment_id: str, environment: str | None) -> list[str]:
        deployment = self._deployments[deployment_id]
        places = [each.name for each in deployment.current_of.all()]
        named = environment if environment is not None else next(iter(sorted(places)), "")
        phase = "promoting" if deployment.candidate_of.all() else "stable" if places else ""
        return [deployment.model_id, deployment.model.name, deployment_id, named, phase]


def _add(
    family: HistogramMetricFamily, labels: Sequence[str], counts: Sequence[int], total: float
) -> None:
    if not counts:
        return
    sofar, buckets = 0, []
    bounds = [*(str(float(bound)) for bound in BUCKET_BOUNDS_SECONDS), "+Inf"]
    for bound, count in zip(bounds, counts, strict=True):
        sofar += count
        buckets.append((bound, float(sofar)))
    family.add_metric(labels, buckets, sum_value=total)


def _in_flight(replica: Replica) -> float:
    said = replica.metrics or {}
    return float(said.get("requests_running", 0)) + float(said.get("requests_waiting", 0))
