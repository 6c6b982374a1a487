"""The engine's own measurements in Prometheus' text form."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from workers.engine.answer import Answer

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120)
STEP_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5)


class EngineMetrics:
    """Counters that the model thread raises; reading them never stops it."""

    def __init__(self) -> None:
        registry = self._registry = CollectorRegistry()
        self.running = Gauge("engine_requests_running", "Rows in use.", registry=registry)
        self.waiting = Gauge(
            "engine_requests_waiting", "Requests without a row.", registry=registry
        )
        self.cache_used = Gauge(
            "engine_kv_cache_used_ratio", "Share of the KV cache that running rows hold.",
            registry=registry,
        )  # fmt: skip
        self.cache_bytes = Gauge(
            "engine_kv_cache_bytes", "Bytes of the KV cache.", registry=registry
        )
        self.cache_planned_bytes = Gauge(
            "engine_kv_cache_planned_bytes", "Bytes that the plan gave it.", registry=registry
        )
        self._prefix_hits = Counter(
            "engine_prefix_hit_tokens", "Prompt tokens that were cached already.", registry=registry
        )
        self._preemptions = Counter(
            "engine_preemptions", "Rows that gave way and began again.", registry=registry
        )
        self._draft_tokens = Counter(
            "engine_draft_tokens", "Guessed tokens that were verified.", registry=registry
        )
        self._accepted_tokens = Counter(
            "engine_accepted_draft_tokens", "Guessed tokens that were right.", registry=registry
        )
        self._failed = Counter(
            "engine_requests_failed", "Rows that ended with an error.", registry=registry
        )
        self._prompt_tokens = Counter(
            "engine_prompt_tokens", "Prompt tokens read.", registry=registry
        )
        self._completion_tokens = Counter(
            "engine_completion_tokens", "Tokens generated.", registry=registry
        )
        self._first_token = Histogram(
            "engine_time_to_first_token_seconds", "Arrival to first token.",
            buckets=SECONDS, registry=registry,
        )  # fmt: skip
        self._between_tokens = Histogram(
            "engine_inter_token_seconds", "Token to token of one answer.",
            buckets=STEP_SECONDS, registry=registry,
        )  # fmt: skip
        self._whole = Histogram(
            "engine_end_to_end_seconds", "Arrival to last token.",
            buckets=SECONDS, registry=registry,
        )  # fmt: skip

    def token_chosen(self, answer: Answer, before: float) -> None:
        """Count an answer's newest token; `before` is when the one before it came."""
        self._completion_tokens.inc()
        if answer.completion_tokens == 1:
            self._prompt_tokens.inc(len(answer.generation.prompt))
            self._first_token.observe(answer.last_token_at - answer.arrived_at)
        else:
            self._between_tokens.observe(answer.last_token_at - before)

    def prefix_reused(self, tokens: int) -> None:
        """Count tokens of a new row that another row had computed."""
        self._prefix_hits.inc(tokens)

    def preempted(self) -> None:
        """Count a row that gave way."""
        self._preemptions.inc()

    def drafts_verified(self, drafts: int, accepted: int) -> None:
        """Count guesses of one step of a row, and how many of them were right."""
        self._draft_tokens.inc(drafts)
        self._accepted_tokens.inc(accepted)

    def answer_failed(self) -> None:
        """Count an answer that ended with an error."""
        self._failed.inc()

    def answer_ended(self, answer: Answer) -> None:
        """Count an answer that reached its end."""
        self._whole.observe(answer.last_token_at - answer.arrived_at)

    def expose(self) -> bytes:
        """Give back the page that Prometheus reads."""
        return generate_latest(self._registry)
