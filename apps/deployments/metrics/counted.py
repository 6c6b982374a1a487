"""What was counted ever since: requests, times, sizes and tokens, from running sums of series."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from apps.accounts.models import Team
from apps.deployments.metrics.shown import Shown
from apps.telemetry.series.names import Source
from apps.telemetry.series.running import Total, totals_of
from apps.telemetry.series.tallies import TALLIES, Tally
from controlplane.domain.wire.exposition import (
    HistogramWriter,
    Page,
    exemplar,
    labels_text,
    sample,
)

_BY_STATUS = (
    ("baseten_end_to_end_response_time_seconds", "end_to_end_seconds",
     "From request to last byte."),
    ("baseten_time_to_first_byte_seconds", "time_to_first_token_seconds",
     "From request to first byte, of streamed requests only."),
    ("enginehouse_queue_seconds", "queue_seconds",
     "From request until it was sent to a replica."),
    ("baseten_request_size_bytes", "request_bytes", "Bodies of requests."),
    ("baseten_response_size_bytes", "response_bytes", "Bodies of answers, as sent."),
)  # fmt: skip
_OF_TOKENS = (
    ("baseten_llm_input_tokens_per_request", "prompt_tokens", "Prompt tokens."),
    ("baseten_llm_output_tokens_per_request", "completion_tokens", "Answer tokens."),
    ("baseten_llm_tokens_per_second_per_request", "tokens_per_second",
     "Tokens a second after the first, of streamed requests."),
    ("baseten_llm_kv_cache_hit_rate", "kv_cache_hit_ratio",
     "Part of the prompt that the engine says it had in its cache."),
)  # fmt: skip
_TOKENS = (
    ("baseten_llm_input_tokens_total", "prompt_tokens", "Prompt tokens."),
    ("baseten_llm_output_tokens_total", "completion_tokens", "Answer tokens."),
    ("enginehouse_llm_cached_input_tokens_total", "cached_prompt_tokens",
     "Of prompt tokens, those that the engine says it had in its cache."),
)  # fmt: skip
_OF_ENGINES = (
    ("baseten_llm_spec_decode_num_draft_tokens_total", "draft_tokens",
     "Draft tokens that were verified."),
    ("baseten_llm_spec_decode_num_accepted_tokens_total", "accepted_draft_tokens",
     "Of them, those that were accepted."),
    ("enginehouse_preemptions_total", "preemptions", "Requests that lost their KV cache."),
)  # fmt: skip
_OF_REPLICAS = (
    ("baseten_container_restarts_total", "replica_failures",
     "Replicas that ended by themselves, each of which another replaces."),
    ("enginehouse_device_seconds_total", "device_seconds",
     "Time that replicas held whole GPUs; a shared one counts by its part."),
)  # fmt: skip

_Labelled = Sequence[tuple[str, Total, Mapping[int, str]]]
"""With the exemplars of all its histograms, by place."""


def add_counted(page: Page, team: Team, shown: Mapping[str, Shown]) -> None:
    totals = [
        each
        for each in totals_of(Source.GATEWAY, team_id=team.id, with_exemplars=page.shows_exemplars)
        if each.deployment_id in shown
    ]
    labelled = [
        (_by_status(shown[each.deployment_id], each), each, _exemplars(each)) for each in totals
    ]
    name = "baseten_inference_requests_total"
    page.add(name, "counter", "Requests that ended.", _requests(name, labelled))
    for name, tally, words in _BY_STATUS:
        page.add(name, "histogram", words, _histograms(name, TALLIES[tally], labelled))
    _add_tokens(page, shown, totals)
    for source, metrics in ((Source.ENGINE, _OF_ENGINES), (Source.CONTROL_PLANE, _OF_REPLICAS)):
        _add_counters(page, source, metrics, shown, list(totals_of(source, team_id=team.id)))


def _requests(name: str, labelled: _Labelled) -> Iterator[str]:
    for labels, each, _ in labelled:
        yield sample(name, labels, each.sum_of(Source.GATEWAY, "requests") or 0)


def _histograms(name: str, tally: Tally, labelled: _Labelled) -> Iterator[str]:
    writer = HistogramWriter(name, tally.bounds)
    for labels, each, exemplars in labelled:
        if counts := tally.counts_in(each.tallies):
            total = tally.sum_in(each.tallies)
            yield writer.lines(labels, counts, total, _within(tally, exemplars))


def _by_status(deployment: Shown, total: Total) -> str:
    status = f'status_code="{total.status_class}",is_async="false"'
    return f"{deployment.labels(total.environment)},{status}"


def _within(tally: Tally, exemplars: Mapping[int, str]) -> Mapping[int, str]:
    """Return those of one histogram by bucket."""
    first, end = tally.first, tally.sum_at
    return {place - first: text for place, text in exemplars.items() if first <= place < end}


def _exemplars(total: Total) -> Mapping[int, str]:
    """Return them as they are written; one pass for all histograms of a label set."""
    return {
        place: exemplar(request_id, value, at)
        for place, (value, request_id, at) in total.exemplars().items()
    }


def _add_tokens(page: Page, shown: Mapping[str, Shown], totals: Sequence[Total]) -> None:
    by_place: dict[tuple[str, str], list[Total]] = defaultdict(list)
    for total in totals:
        by_place[total.deployment_id, total.environment].append(total)
    labelled = [(shown[id].labels(environment), of_place)
                for (id, environment), of_place in by_place.items()]  # fmt: skip
    for name, series, words in _TOKENS:
        lines = [sample(name, labels, _sum(of_place, series)) for labels, of_place in labelled]
        page.add(name, "counter", words, lines)
    for name, series, words in _OF_TOKENS:
        page.add(name, "histogram", words, _together_of(name, TALLIES[series], labelled))


def _together_of(
    name: str, tally: Tally, labelled: Sequence[tuple[str, Sequence[Total]]]
) -> Iterator[str]:
    writer = HistogramWriter(name, tally.bounds)
    for labels, of_place in labelled:
        yield _together(writer, tally, labels, of_place)


def _sum(totals: Iterable[Total], series: str) -> float:
    return sum(each.sum_of(Source.GATEWAY, series) or 0 for each in totals)


def _together(writer: HistogramWriter, tally: Tally, labels: str, totals: Sequence[Total]) -> str:
    rows = [each.tallies for each in totals if tally.counts_in(each.tallies)]
    if len(rows) == 1:  # mostly it is
        return writer.lines(labels, tally.counts_in(rows[0]), tally.sum_in(rows[0]))
    columns = zip(*map(tally.counts_in, rows), strict=True)
    counts = [sum(map(int, column)) for column in columns]
    return writer.lines(labels, counts, sum(float(tally.sum_in(row)) for row in rows))


def _add_counters(
    page: Page,
    source: Source,
    metrics: Sequence[tuple[str, str, str]],
    shown: Mapping[str, Shown],
    totals: Sequence[Total],
) -> None:
    for name, series, words in metrics:
        sums = ((each, each.sum_of(source, series)) for each in totals)
        lines = [
            sample(name, _of_replica(shown[each.deployment_id], each.replica_id), amount)
            for each, amount in sums
            if amount is not None and each.deployment_id in shown
        ]
        page.add(name, "counter", words, lines)


def _of_replica(deployment: Shown, replica_id: str) -> str:
    named = f",{labels_text(('replica',), (replica_id,))}" if replica_id else ""
    return f"{deployment.labels()}{named}"
