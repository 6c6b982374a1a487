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
            "engine_kv_cache_used_ratio", "Reserved share of the KV cache.", registry=registry
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

    def answer_ended(self, answer: Answer) -> None:
        """Count an answer that reached its end."""
        self._whole.observe(answer.last_token_at - answer.arrived_at)

    def expose(self) -> bytes:
        """Give back the page that Prometheus reads."""
        return generate_latest(self._registry)
