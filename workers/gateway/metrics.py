"""Counts kept as plain integers on the hot path and turned into Prometheus text when asked."""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping

from controlplane.domain.wire.exposition import (
    Form,
    HistogramWriter,
    Page,
    exemplar,
    labels_text,
    sample,
)

DURATION_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1200)
STATUS_CLASSES = ("1xx", "2xx", "3xx", "4xx", "5xx")
_BYTES_A_TOKEN, _ANSWER_TOKENS = 4, 256
"""Reckoned with until a request has told its own."""
_LONGEST_PAUSE_SECONDS = 60
LABELS = ("model_id", "deployment_id")


WHOLE = 1000
"""What one request weighs where deployments are sized, in whole numbers, which leave no rest."""
ASYNC_WEIGHT = 1
"""Of an asynchronous one: it keeps a replica, and asks for no second. Source: the hosted product's
guide to autoscaling, by which asynchronous requests do not count."""


class Histogram:
    __slots__ = ("counts", "latest", "total")

    def __init__(self) -> None:
        self.counts = [0] * (len(DURATION_SECONDS) + 1)
        self.latest: list[tuple[bytes, float] | None] = [None] * len(self.counts)
        """Of each bucket the request that came last, and its value."""
        self.total = 0.0

    def observe(self, seconds: float, request_id: bytes) -> None:
        bucket = bisect_left(DURATION_SECONDS, seconds)
        self.counts[bucket] += 1
        self.latest[bucket] = (request_id, seconds)
        self.total += seconds

    def exemplars(self) -> Mapping[int, str]:
        return {
            bucket: exemplar(latest[0].decode(), latest[1])
            for bucket, latest in enumerate(self.latest)
            if latest is not None
        }


class TokensPerByte:
    """What finished requests had, by which those in flight are estimated."""

    __slots__ = ("answers", "completion", "prompt", "request_bytes", "response_bytes")

    def __init__(self) -> None:
        self.prompt = self.completion = self.request_bytes = self.response_bytes = 0
        self.answers = 0

    def learn(self, prompt: int, completion: int, request_bytes: int, response_bytes: int) -> None:
        self.answers += 1
        self.prompt += prompt
        self.completion += completion
        self.request_bytes += request_bytes
        self.response_bytes += response_bytes

    def reckon(self, request_bytes: int) -> int:
        """Return the tokens that a request may use which is about to be sent."""
        read = self.estimate(request_bytes, 0) or request_bytes / _BYTES_A_TOKEN
        return round(read) + (self.completion // self.answers if self.answers else _ANSWER_TOKENS)

    def estimate(self, request_bytes: int, response_bytes: int) -> float:
        """Return the tokens of so many bytes; none before a request has told its own."""
        read = request_bytes * self.prompt / self.request_bytes if self.request_bytes else 0.0
        if not self.response_bytes:
            return read
        return read + response_bytes * self.completion / self.response_bytes


class DeploymentCounts:
    __slots__ = (
        "_moved_at", "_seconds", "_weight", "beliefs", "by_status_class", "choices", "duration",
        "ejected", "first_byte", "in_flight", "tokens", "upstream_errors", "waiting",
    )  # fmt: skip

    def __init__(self) -> None:
        self._seconds = self._moved_at = 0.0
        self.tokens = TokensPerByte()
        self.by_status_class = [0] * len(STATUS_CLASSES)
        self.duration = Histogram()
        self.first_byte = Histogram()
        self.in_flight = self._weight = 0
        """And how much they count for the size of the deployment, in thousandths."""
        self.waiting = 0
        """Of those in flight, those that wait for their turn."""
        self.upstream_errors: dict[str, int] = {}
        self.ejected: dict[str, int] = {}
        """Replicas that are ejected now, by why; as it was when somebody asked last."""
        self.choices: dict[str, int] = {}
        """How often a replica was chosen, by why."""
        self.beliefs: dict[str, int] = {}
        """How often one had what it was chosen for, and how often not."""

    def opened(self, now: float, weight: int = WHOLE) -> None:
        self._move(now, weight)
        self.in_flight += 1

    def closed(self, now: float, weight: int = WHOLE) -> None:
        self._move(now, -weight)
        self.in_flight -= 1

    def _move(self, now: float, by: int) -> None:
        self._seconds += self._weight * (now - self._moved_at)
        self._moved_at = now
        self._weight += by

    def in_flight_seconds_until(self, now: float) -> float:
        """Return for how long requests were in flight that deployments are sized by, summed."""
        return (self._seconds + self._weight * (now - self._moved_at)) / WHOLE

    def seconds_until_room(self, before: int, carried: int) -> int:
        """Return when so many may have had their turn, at the pace of those that ended."""
        ended = sum(self.by_status_class)
        each = self.duration.total / ended if ended else 1.0
        return max(1, min(_LONGEST_PAUSE_SECONDS, round(each * before / max(1, carried))))

    def chosen(self, reason: str) -> None:
        self.choices[reason] = self.choices.get(reason, 0) + 1

    def believed(self, outcome: str) -> None:
        self.beliefs[outcome] = self.beliefs.get(outcome, 0) + 1

    def upstream_failed(self, reason: str) -> None:
        self.upstream_errors[reason] = self.upstream_errors.get(reason, 0) + 1

    def finished(
        self, status: int, request_id: bytes, *, duration: float, first_byte: float | None
    ) -> None:
        self.by_status_class[min(max(status // 100, 1), 5) - 1] += 1
        self.duration.observe(duration, request_id)
        if first_byte is not None:
            self.first_byte.observe(first_byte, request_id)


class Metrics:
    """Counts of every deployment, and of requests that were refused before reaching one."""

    def __init__(self) -> None:
        self.deployments: dict[tuple[str, str], DeploymentCounts] = {}
        self.refused: dict[int, int] = {}
        self.by_process: dict[str, tuple[int, bool]] | None = None
        """Of several processes together, what cannot be added: by the number of each."""
        self.snapshot_version = 0
        self.client_connections = 0
        self.slips = 0
        self.routes_differed = 0
        self.limits_are_shared = False
        self.spans_dropped = 0

    def of(self, model_id: str, deployment_id: str) -> DeploymentCounts:
        key = (model_id, deployment_id)
        counts = self.deployments.get(key)
        if counts is None:
            counts = self.deployments[key] = DeploymentCounts()
        return counts

    def count_routes_differed(self) -> None:
        self.routes_differed += 1

    def refuse(self, status: int) -> None:
        self.refused[status] = self.refused.get(status, 0) + 1

    def exposition(self, may_see: Callable[[str], bool], form: Form = Form.TEXT) -> bytes:
        """Return the metrics of the models that the asking key may see."""
        page = Page(form)
        self._add_process(page)
        named = [
            (labels_text(LABELS, ids), counts)
            for ids, counts in self.deployments.items()
            if may_see(ids[0])
        ]
        _add_requests(page, named)
        _add_choices(page, named)
        durations = [(labels, counts.duration) for labels, counts in named]
        _add_histogram(page, "gateway_request_duration_seconds", "Request to last byte.", durations)
        firsts = [(labels, counts.first_byte) for labels, counts in named]
        words = "Request to first byte, streamed or not."
        _add_histogram(page, "gateway_time_to_first_byte_seconds", words, firsts)
        return page.content()

    def _add_process(self, page: Page) -> None:
        for name, kind, words, value in (
            ("gateway_client_connections", "gauge", "Open connections.", self.client_connections),
            ("gateway_slips_total", "counter", "Mistakes of the gateway's own.", self.slips),
            ("gateway_routes_differed_total", "counter",
             "Times the routes were not what the control plane has, and were fetched whole.",
             self.routes_differed),
            ("gateway_trace_spans_dropped_total", "counter",
             "Spans that no collector took in time.", self.spans_dropped),
        ):  # fmt: skip
            page.add(name, kind, words, [sample(name, "", value)])
        self._add_by_process(page)
        name = "gateway_requests_refused_total"
        refused = [sample(name, f'status="{each}"', many) for each, many in self.refused.items()]
        page.add(name, "counter", "Requests refused before a deployment.", refused)

    def _add_by_process(self, page: Page) -> None:
        states = {"": (self.snapshot_version, self.limits_are_shared)}
        if self.by_process is not None:
            states = {labels_text(("process",), (n,)): each for n, each in self.by_process.items()}
        for place, (name, words) in enumerate((
            ("gateway_snapshot_version", "Routes applied."),
            ("gateway_limits_shared",
             "Whether limits of keys are counted together with other processes."),
        )):  # fmt: skip
            lines = [sample(name, labels, int(each[place])) for labels, each in states.items()]
            page.add(name, "gauge", words, lines)


_Named = Iterable[tuple[str, DeploymentCounts]]


def _add_requests(page: Page, named: _Named) -> None:
    requests, running, failed = (
        "gateway_requests_total", "gateway_requests_in_flight", "gateway_upstream_errors_total"
    )  # fmt: skip
    page.add(requests, "counter", "Requests finished.", [
        sample(requests, f'{labels},status_class="{name}"', count)
        for labels, counts in named
        for name, count in zip(STATUS_CLASSES, counts.by_status_class, strict=True)
    ])  # fmt: skip
    page.add(running, "gauge", "Requests running.", [
        sample(running, labels, counts.in_flight) for labels, counts in named
    ])  # fmt: skip
    waiting = "gateway_requests_waiting"
    page.add(waiting, "gauge", "Requests that wait for their turn.", [
        sample(waiting, labels, counts.waiting) for labels, counts in named
    ])  # fmt: skip
    page.add(failed, "counter", "Failures of engines.", [
        sample(failed, f"{labels},{labels_text(['reason'], [reason])}", count)
        for labels, counts in named
        for reason, count in counts.upstream_errors.items()
    ])  # fmt: skip


def _add_choices(page: Page, named: _Named) -> None:
    name = "gateway_replicas_ejected"
    page.add(name, "gauge", "Replicas that are passed over until they are well, by why.", [
        sample(name, f"{labels},{labels_text(['reason'], [reason])}", count)
        for labels, counts in named
        for reason, count in counts.ejected.items()
    ])  # fmt: skip
    name = "gateway_replica_choices_total"
    page.add(name, "counter", "Replicas chosen, by why.", [
        sample(name, f"{labels},{labels_text(['reason'], [reason])}", count)
        for labels, counts in named
        for reason, count in counts.choices.items()
    ])  # fmt: skip
    name = "gateway_prefix_beliefs_total"
    page.add(name, "counter", "Answers of replicas chosen for a prompt, by what their cache had.", [
        sample(name, f"{labels},{labels_text(['outcome'], [outcome])}", count)
        for labels, counts in named
        for outcome, count in counts.beliefs.items()
    ])  # fmt: skip


def _add_histogram(
    page: Page, name: str, words: str, rows: Iterable[tuple[str, Histogram]]
) -> None:
    shows, writer = page.shows_exemplars, HistogramWriter(name, DURATION_SECONDS)
    lines = [
        writer.lines(labels, each.counts, each.total, each.exemplars() if shows else None)
        for labels, each in rows
    ]
    page.add(name, "histogram", words, lines)
