"""Prompts that begin alike are computed once, and only where that may be shared."""

from pathlib import Path

import pytest
import torch

from tests.workers.engine.asking import Asked, Hold, start_engine, transformers_greedy
from tests.workers.engine.reading_metrics import metric
from workers.engine.engine import Engine
from workers.engine.kept_rows import Content, KeptRows, shared_length
from workers.engine.kv_cache import CacheShape, SlotCache
from workers.engine.slots import Row

pytestmark = pytest.mark.engine

PROMPT = [3 + (token * 37) % 380 for token in range(60)]
BYTES_PER_TOKEN = 2 * 2 * 2 * 16 * 4


@pytest.mark.parametrize("length", [17, 40, 59, 60])
def test_a_prompt_that_begins_alike_is_answered_as_if_computed(
    checkpoint: Path, length: int
) -> None:
    engine = start_engine(checkpoint)
    Asked(engine, PROMPT, max_tokens=8, ignore_eos=True).finish()
    alike = [*PROMPT[:length], 7, 9]
    answer = Asked(engine, alike, max_tokens=20).finish().tokens
    assert metric(engine, "engine_prefix_hit_tokens_total") == length
    assert answer == transformers_greedy(checkpoint, alike, 20)
    engine.stop()


def test_the_next_turn_of_a_conversation_reuses_the_answer_too(checkpoint: Path) -> None:
    engine = start_engine(checkpoint)
    first = Asked(engine, PROMPT, max_tokens=10, ignore_eos=True).finish().tokens
    turn = [*PROMPT, *first, 5, 6]
    answer = Asked(engine, turn, max_tokens=10).finish().tokens
    assert metric(engine, "engine_prefix_hit_tokens_total") == len(PROMPT) + 9
    assert answer == transformers_greedy(checkpoint, turn, 10)
    engine.stop()


def test_the_same_prompt_again_feeds_its_last_token_only(engine: Engine) -> None:
    prompt = [*PROMPT[::-1], 11]
    before = metric(engine, "engine_prefix_hit_tokens_total")
    answers = [Asked(engine, prompt).finish().tokens for _ in range(2)]
    assert answers[0] == answers[1]
    assert metric(engine, "engine_prefix_hit_tokens_total") == before + len(prompt) - 1


def test_nothing_is_shared_between_salts_and_adapters(checkpoint: Path) -> None:
    engine = start_engine(checkpoint)
    for salt in ("a", "", "b"):
        Asked(engine, PROMPT, generation={"cache_salt": salt}).finish()
    assert metric(engine, "engine_prefix_hit_tokens_total") == 0
    Asked(engine, PROMPT, generation={"cache_salt": "a"}).finish()
    assert metric(engine, "engine_prefix_hit_tokens_total") == len(PROMPT) - 1
    engine.stop()


def test_a_prompt_shares_with_a_row_that_still_runs(checkpoint: Path) -> None:
    engine = start_engine(checkpoint)
    hold = Hold()
    running = Asked(engine, PROMPT, max_tokens=300, ignore_eos=True, on_piece=hold)
    alike = [*PROMPT[:50], 9]
    with hold:
        request = Asked(engine, alike)
    assert request.finish().tokens == transformers_greedy(checkpoint, alike, 24)
    assert metric(engine, "engine_prefix_hit_tokens_total") == 50
    running.answer.cancel()
    engine.stop()


def test_kept_rows_give_way_to_running_ones(checkpoint: Path) -> None:
    engine = start_engine(checkpoint, kv_cache_bytes=100 * BYTES_PER_TOKEN)
    for first in range(3, 9):
        Asked(engine, [first, *PROMPT[:30]], max_tokens=4).finish()
    whole = Asked(engine, PROMPT, max_tokens=40, ignore_eos=True).finish()
    assert whole.failure is None
    assert len(whole.tokens) == 40
    engine.stop()


WANTED = Content(Row(first_slot=0, capacity=0), [1], None)


def test_rows_in_use_move_together_before_a_new_one_goes_without() -> None:
    shape = CacheShape(layers=1, kv_heads=1, head_dim=2, dtype=torch.float32)
    cache = SlotCache(shape, slots=10, device=torch.device("cpu"))
    rows = KeptRows(cache)
    first, middle, last = (_reserved(rows, 3) for _ in range(3))
    tokens = torch.arange(6.0).reshape(1, 3, 2)
    cache.write(0, tokens, -tokens, torch.arange(3, 6))
    middle.length = 3
    for ended in (first, last):
        rows.give_back(Content(ended, [1], None))
    assert _reserved(rows, 7).capacity == 7
    span = cache.span(middle, 0)
    assert torch.equal(span.values[0], -tokens)
    assert torch.equal(span.keys[0], tokens.transpose(1, 2))
    assert rows.reserve(WANTED, 1) is None


def test_a_row_whose_beginning_cannot_be_copied_is_free_again(
    checkpoint: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = start_engine(checkpoint, kv_cache_bytes=200 * BYTES_PER_TOKEN)
    Asked(engine, PROMPT, max_tokens=4).finish()
    with monkeypatch.context() as broken:
        broken.setattr(SlotCache, "copy", _break)
        failed = Asked(engine, [*PROMPT[:50], 9]).finish()
    assert failed.failure == "the engine failed on this request (MemoryError)"
    assert metric(engine, "engine_kv_cache_used_ratio") == 0
    whole = Asked(engine, PROMPT, max_tokens=141, ignore_eos=True).finish()
    assert len(whole.tokens) == 141
    engine.stop()


def _reserved(rows: KeptRows, capacity: int) -> Row:
    row = rows.reserve(WANTED, capacity)
    assert row is not None
    return row


def _break(*_: object) -> None:
    raise MemoryError


@pytest.mark.parametrize(
    ("one", "other", "shared"),
    [
        ([], [1], 0), ([1], [1], 1), ([2], [1], 0),
        ([1, 2, 3], [1, 2, 4, 5], 2), ([1] * 9, [1] * 7, 7),
    ],
)  # fmt: skip
def test_the_common_beginning_is_found(one: list[int], other: list[int], shared: int) -> None:
    assert shared_length(one, other, min(len(one), len(other))) == shared
