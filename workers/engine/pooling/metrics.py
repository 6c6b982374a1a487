"""The pooling engine's own measurements in Prometheus' text form."""

from collections.abc import Sequence
from functools import partial

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from workers.engine.metrics import SECONDS
from workers.engine.pooling.rows import Request

ROWS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)


class PoolingMetrics:
    """Counters that the model thread raises; names that generation has too mean the same."""

    def __init__(self) -> None:
        registry = self._registry = CollectorRegistry()
        gauge = partial(Gauge, namespace="engine", registry=registry)
        counter = partial(Counter, namespace="engine", registry=registry)
        histogram = partial(Histogram, namespace="engine", registry=registry)

        self.running = gauge("requests_running", "Requests begun.")
        self.waiting = gauge("requests_waiting", "Requests that no forward has touched.")
        self._tokens = counter("prompt_tokens", "Tokens read.")
        self._padding = counter("padding_tokens", "Tokens that only filled rows up.")
        self._cut = counter("truncated_inputs", "Texts cut at the model's limit.")
        self._rows = histogram("forward_rows", "Texts of one forward.", buckets=ROWS)
        self._whole = histogram("end_to_end_seconds", "Arrival to last result.", buckets=SECONDS)

    def computed(self, lengths: Sequence[int], *, pads: bool) -> None:
        tokens = sum(lengths)
        self._tokens.inc(tokens)
        if pads:
            self._padding.inc(max(lengths) * len(lengths) - tokens)
        self._rows.observe(len(lengths))

    def answered(self, request: Request, at: float) -> None:
        """Count a request that has all its results since then, by its loop's clock."""
        self._cut.inc(sum(row.was_cut for row in request.rows))
        self._whole.observe(at - request.arrived_at)

    def expose(self) -> bytes:
        return generate_latest(self._registry)
