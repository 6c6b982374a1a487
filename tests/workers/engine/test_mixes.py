"""Whatever comes in whatever order: every row ends, and nothing of it stays behind."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tests.tiny_adapter import make_tiny_adapter
from tests.workers.engine.asking import Asked, start_engine
from tests.workers.engine.reading_metrics import metric
from workers.engine.engine import Engine
from workers.engine.generation import FinishReason
from workers.runtimes.native.drafting import drafters

pytestmark = pytest.mark.engine

BYTES_PER_TOKEN = 2 * 2 * 2 * 16 * 4
REQUESTS = st.fixed_dictionaries({
    "prompt": st.lists(st.integers(0, 511), min_size=1, max_size=70),
    "max_tokens": st.integers(1, 25),
    "temperature": st.sampled_from([0.0, 0.8]),
    "stop": st.sampled_from([(), ("e",), (" ", "zz")]),
    "cancel_after": st.sampled_from([None, None, 0, 3]),
    "generation": st.sampled_from([{}, {"adapter": "legal"}, {"cache_salt": "a"}]),
})  # fmt: skip


@pytest.fixture(scope="module", params=["guaranteed_no_evict", "max_utilization"])
def tight_engine(
    checkpoint: Path, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[Engine]:
    """Room for three rows of about forty tokens, fed in pieces of sixteen, with guesses."""
    adapters = {"legal": make_tiny_adapter(tmp_path_factory.mktemp("legal"), seed=1)}
    engine = start_engine(
        checkpoint, adapters=adapters, max_batch_size=3, max_num_tokens=16,
        kv_cache_bytes=128 * BYTES_PER_TOKEN, scheduler_policy=request.param,
        make_drafter=drafters(2, 1),
    )  # fmt: skip
    yield engine
    engine.stop()


@examples(40)
@given(requests=st.lists(REQUESTS, min_size=1, max_size=10))
def test_every_row_ends_and_the_cache_is_empty_again(tight_engine: Engine, requests: list) -> None:
    counted = metric(tight_engine, "engine_completion_tokens_total")
    request_sent, everyone = [], []
    for request in requests:
        cancel_after = request.pop("cancel_after")
        one = Asked(tight_engine, request.pop("prompt"), **request)
        everyone.append(one)
        if cancel_after is None:
            request_sent.append((one, request["max_tokens"]))
            continue
        for _, _ in zip(range(cancel_after), one.pieces(), strict=False):
            pass
        one.answer.cancel()
    for one, max_tokens in request_sent:
        one.finish()
        assert one.failure is None
        assert 1 <= len(one.tokens) <= max_tokens
        assert one.reason is FinishReason.STOP or len(one.tokens) == max_tokens
    last = Asked(tight_engine, [5] * 100, max_tokens=28).finish()
    assert last.failure is None, "a row as large as the cache fits only when all others left"
    chosen = sum(len(one.tokens) for one in (*everyone, last))
    assert metric(tight_engine, "engine_completion_tokens_total") == counted + chosen
    assert metric(tight_engine, "engine_kv_cache_used_ratio") == 0
    if tight_engine.settings.scheduler_policy == "guaranteed_no_evict":
        assert metric(tight_engine, "engine_preemptions_total") == 0
