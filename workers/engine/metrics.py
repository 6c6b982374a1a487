"""The engine's own measurements in Prometheus' text form."""

from functools import partial

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from controlplane.domain.draft_positions import POSITIONS, positions_within
from workers.engine.runner import Segment
from workers.engine.sequence import Sequence

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120)
STEP_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5)


class EngineMetrics:
    """What the model thread counts; reading it never stops it."""

    def __init__(self) -> None:
        registry = self._registry = CollectorRegistry()
        gauge = partial(Gauge, namespace="engine", registry=registry)
        counter = partial(Counter, namespace="engine", registry=registry)
        seconds = partial(Histogram, namespace="engine", registry=registry, buckets=SECONDS)

        self.running = gauge("requests_running", "Rows in use.")
        self.waiting = gauge("requests_waiting", "Requests without a row.")
        self.cache_used = gauge("kv_cache_used_ratio", "Share of it that running rows hold.")
        self.cache_bytes = gauge("kv_cache_bytes", "Bytes of the KV cache.")
        self.cache_planned_bytes = gauge("kv_cache_planned_bytes", "What the plan gave it.")
        self.prefix_hits = counter("prefix_hit_tokens", "Prompt tokens that were cached already.")
        self.preemptions = counter("preemptions", "Rows that gave way and began again.")
        self._drafted_steps = counter("drafts", "Drafts that were verified.")
        by_position = counter(
            "drafts_accepted_per_position", "Those right up to there, from zero.", ["position"]
        )
        self._right_to = {each: by_position.labels(str(each - 1)) for each in POSITIONS}
        self._drafts = counter("draft_tokens", "Guessed tokens that were verified.")
        self._accepted = counter("accepted_draft_tokens", "Guessed tokens that were right.")
        self._forced = counter("forced_tokens", "Tokens of a schema that shared a forward.")
        self._drafted_tokens = counter("drafted_answer_tokens", "Tokens after the first, drafted.")
        self._drafted_seconds = counter("drafted_answer_seconds", "Time that these took.")
        self._undrafted_tokens = counter("undrafted_answer_tokens", "The same, without guesses.")
        self._undrafted_seconds = counter("undrafted_answer_seconds", "Time that these took.")
        self.failed = counter("requests_failed", "Rows that ended with an error.")
        self._prompt_tokens = counter("prompt_tokens", "Prompt tokens read.")
        self._completion_tokens = counter("completion_tokens", "Tokens generated.")
        self._first_token = seconds("time_to_first_token_seconds", "Arrival to first token.")
        self._between_tokens = seconds(
            "inter_token_seconds", "Token to token of one answer.", buckets=STEP_SECONDS
        )
        self._whole = seconds("end_to_end_seconds", "Arrival to last token.")

    def token_chosen(self, sequence: Sequence, before: float) -> None:
        """Count an answer's newest token; `before` is when the one before it came."""
        if sequence.completion_tokens == 0:  # the scores of its prompt were all that was asked for
            self._prompt_tokens.inc(len(sequence.generation.prompt))
            return
        self._completion_tokens.inc()
        if sequence.completion_tokens == 1:
            self._prompt_tokens.inc(len(sequence.generation.prompt))
            self._first_token.observe(sequence.last_token_at - sequence.arrived_at)
        else:
            self._between_tokens.observe(sequence.last_token_at - before)
            self._compare(sequence, sequence.last_token_at - before)

    def _compare(self, sequence: Sequence, seconds: float) -> None:
        is_drafted = sequence.is_drafted
        (self._drafted_tokens if is_drafted else self._undrafted_tokens).inc()
        (self._drafted_seconds if is_drafted else self._undrafted_seconds).inc(seconds)

    def drafts_verified(self, segment: Segment, accepted: int) -> None:
        if segment.is_forced:
            self._forced.inc(accepted)
        else:
            self._drafts.inc(segment.drafts)
            self._accepted.inc(accepted)
            self._drafted_steps.inc(segment.drafts > 0)
            for position in positions_within(accepted):
                self._right_to[position].inc()

    def answer_ended(self, sequence: Sequence) -> None:
        self._whole.observe(sequence.last_token_at - sequence.arrived_at)

    def expose(self) -> bytes:
        return generate_latest(self._registry)
