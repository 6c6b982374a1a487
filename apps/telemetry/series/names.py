"""The catalogue: every series with its kind, unit, source and labels. One row here is one series.

Rows of a source keep their order for ever, and new ones come last: their places in stored rows are
counted from it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache

from controlplane.domain.draft_positions import POSITIONS, series_of

LABELS = (
    "team_id", "model_id", "deployment_id", "environment", "key_id", "replica_id", "node_id",
    "device_id", "status_class",
)  # fmt: skip
"""Every label that a row may have, in the order in which they are stored; empty where unknown."""


class Kind(StrEnum):
    COUNTER = "counter"
    """Grew by so much within a bucket; buckets and labels add up."""
    GAUGE = "gauge"
    """Stood so high when it was looked at: its mean and its highest within a bucket."""
    DISTRIBUTION = "distribution"
    """One value a request: percentiles out of a sketch, mean, and count."""


class Source(StrEnum):
    GATEWAY = "gateway"
    """Every request, as the gateway's journal has it."""
    ENGINE = "engine"
    """What an engine says of itself, read by its agent every 10 seconds."""
    DEVICE = "device"
    """NVML for GPUs and the kernel for CPUs, read by the agent with each report."""
    CONTROL_PLANE = "control_plane"
    """What the control plane itself knows, every 10 seconds."""


class Across(StrEnum):
    """How gauges of several label sets become one."""

    SUM = "sum"
    MEAN = "mean"
    MAX = "max"


@dataclass(frozen=True, kw_only=True)
class Series:
    name: str
    kind: Kind
    unit: str
    source: Source
    words: str
    across: Across = Across.SUM


_OF_DEPLOYMENT = ("team_id", "model_id", "deployment_id")
CUTS: Mapping[Source, Mapping[str, tuple[str, ...]]] = {
    # Each request counts once in each: no cut is larger than one breakdown needs, and what a chart
    # reads is no more than its own lines.
    Source.GATEWAY: {
        "team": ("team_id", "status_class"),
        "deployment": (*_OF_DEPLOYMENT, "environment", "status_class"),
        "replica": (*_OF_DEPLOYMENT, "environment", "replica_id", "status_class"),
        "key": (*_OF_DEPLOYMENT, "environment", "key_id", "status_class"),
    },
    Source.ENGINE: {"replica": (*_OF_DEPLOYMENT, "replica_id", "node_id")},
    Source.DEVICE: {"device": (*_OF_DEPLOYMENT, "replica_id", "node_id", "device_id")},
    Source.CONTROL_PLANE: {"deployment": _OF_DEPLOYMENT},
}
"""Source -> breakdowns that are kept, the smaller ones first, each with its labels."""


def _of(source: Source, *rows: tuple[str, Kind, str, str] | tuple[str, Kind, str, str, Across]) -> (
    tuple[Series, ...]
):  # fmt: skip
    return tuple(
        Series(
            name=name, kind=kind, unit=unit, source=source, words=words,
            across=across[0] if across else Across.SUM,
        )
        for name, kind, unit, words, *across in rows
    )  # fmt: skip


CATALOGUE: tuple[Series, ...] = (
    *_of(
        Source.GATEWAY,
        ("requests", Kind.COUNTER, "requests", "Requests that ended."),
        ("prompt_tokens", Kind.COUNTER, "tokens", "Tokens of the prompts."),
        ("cached_prompt_tokens", Kind.COUNTER, "tokens",
         "Of them, those that the engine says it had in its cache."),
        ("completion_tokens", Kind.COUNTER, "tokens", "Tokens of the answers."),
        ("request_bytes", Kind.COUNTER, "bytes", "Bodies of requests."),
        ("response_bytes", Kind.COUNTER, "bytes", "Bodies of answers, as sent."),
        ("queue_seconds", Kind.DISTRIBUTION, "seconds",
         "From the request's arrival until it was sent to a replica."),
        ("time_to_first_token_seconds", Kind.DISTRIBUTION, "seconds",
         "From the request's arrival to the first byte of the answer, of streamed requests."),
        ("inter_token_seconds", Kind.DISTRIBUTION, "seconds",
         "Mean time between two tokens of one answer, of streamed requests."),
        ("end_to_end_seconds", Kind.DISTRIBUTION, "seconds",
         "From the request's arrival to the last byte of the answer."),
    ),
    *_of(
        Source.ENGINE,
        ("requests_running", Kind.GAUGE, "requests", "Requests that the engine works on."),
        ("requests_waiting", Kind.GAUGE, "requests", "Requests in the engine's own queue."),
        ("kv_cache_used_ratio", Kind.GAUGE, "ratio", "Part of the KV cache in use.", Across.MAX),
        ("engine_prompt_tokens", Kind.COUNTER, "tokens", "Prompt tokens, by the engine's count."),
        ("engine_completion_tokens", Kind.COUNTER, "tokens", "Tokens generated, by its count."),
        ("preemptions", Kind.COUNTER, "requests", "Requests that lost their KV cache to others."),
        ("prefix_cache_queries", Kind.COUNTER, "tokens", "Tokens looked up in the prefix cache."),
        ("prefix_cache_hits", Kind.COUNTER, "tokens", "Tokens found there."),
        ("draft_tokens", Kind.COUNTER, "tokens", "Draft tokens that were verified."),
        ("accepted_draft_tokens", Kind.COUNTER, "tokens", "Of them, those that were accepted."),
        ("drafted_answer_tokens", Kind.COUNTER, "tokens",
         "Tokens after the first of answers with lookahead."),
        ("drafted_answer_seconds", Kind.COUNTER, "seconds", "Time that these took."),
        ("undrafted_answer_tokens", Kind.COUNTER, "tokens",
         "The same of answers without, as a held-out share is."),
        ("undrafted_answer_seconds", Kind.COUNTER, "seconds", "Time that these took."),
        ("drafts", Kind.COUNTER, "drafts", "Drafts that were verified."),
        *(
            (series_of(each), Kind.COUNTER, "drafts",
             f"Of them, those whose first {each} tokens or more were accepted.")
            for each in POSITIONS
        ),
    ),
    *_of(
        Source.DEVICE,
        ("device_utilization_ratio", Kind.GAUGE, "ratio",
         "Part of the time in which a kernel ran; of a CPU its load by cores.", Across.MEAN),
        ("device_memory_used_bytes", Kind.GAUGE, "bytes", "Memory taken, whoever took it."),
        ("device_power_watts", Kind.GAUGE, "watts", "Power drawn, of GPUs."),
    ),
    *_of(
        Source.CONTROL_PLANE,
        ("replicas_wanted", Kind.GAUGE, "replicas", "Replicas that should run."),
        ("replicas_ready", Kind.GAUGE, "replicas", "Replicas that serve."),
        ("replicas_starting", Kind.GAUGE, "replicas", "Replicas on their way."),
        ("device_seconds", Kind.COUNTER, "seconds",
         "Time that replicas held whole GPUs; a shared one counts by its part."),
        ("cost", Kind.COUNTER, "currency",
         "What that time cost, where the kind of GPU has a price."),
        ("gateways_live", Kind.GAUGE, "gateways",
         "Gateways that were heard: without one, no request could be counted.", Across.MAX),
        ("replica_failures", Kind.COUNTER, "replicas",
         "Replicas that ended by themselves: their engine, their host or their start failed."),
        ("requests_in_flight", Kind.GAUGE, "requests",
         "Requests that gateways hold, running and waiting: what deployments are sized by."),
        ("tokens_in_flight", Kind.GAUGE, "tokens", "Tokens of those, as gateways estimate them."),
    ),
)  # fmt: skip
BY_NAME: Mapping[str, Series] = {each.name: each for each in CATALOGUE}
COVERAGE = "gateways_live"
"""Where it stands above zero, a counter of gateways without a row is zero, and not a gap."""

_SUM_SLOTS = {Kind.COUNTER: 1, Kind.GAUGE: 3, Kind.DISTRIBUTION: 1}
"""A gauge takes count, sum and highest; a distribution its sum, beside its sketch."""
HIGHEST = 2
"""Which of a gauge's slots is kept as the highest, and not added up."""


@dataclass(frozen=True, kw_only=True)
class Slots:
    """Where a series lies in the rows of its source."""

    sums: int
    sketch: int


@cache
def slots_of(source: Source) -> Mapping[str, Slots]:
    slots, sums, sketches = {}, 0, 0
    for each in of_source(source):
        slots[each.name] = Slots(sums=sums, sketch=sketches)
        sums += _SUM_SLOTS[each.kind]
        sketches += each.kind is Kind.DISTRIBUTION
    return slots


@cache
def of_source(source: Source) -> tuple[Series, ...]:
    return tuple(each for each in CATALOGUE if each.source is source)


@cache
def widths_of(source: Source) -> tuple[int, int]:
    rows = of_source(source)
    sketches = sum(each.kind is Kind.DISTRIBUTION for each in rows)
    return sum(_SUM_SLOTS[each.kind] for each in rows), sketches


@cache
def highest_of(source: Source) -> frozenset[int]:
    """Return the slots of sums in which the higher of two values stays."""
    slots = slots_of(source)
    gauges = (each for each in of_source(source) if each.kind is Kind.GAUGE)
    return frozenset(slots[each.name].sums + HIGHEST for each in gauges)
