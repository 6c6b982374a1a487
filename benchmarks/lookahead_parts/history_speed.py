"""What a history of many tokens costs: bytes, CPU time of an insert, and of a step."""

import random
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import Tokenizer

from benchmarks.lookahead_parts.texts import Tokens
from benchmarks.report import percentile
from workers.lookahead.drafter import Drafter
from workers.lookahead.history import SharedHistory
from workers.lookahead.rules import DraftRule

BATCH_FILES = 200
SAME_PLACE_PARTS = 2
"""`util/retry.py` is the same file wherever it is installed, in whatever version."""
LONGEST_FILE_CHARACTERS = 60_000
CONTEXT_TOKENS = 400
STEPS = 10_000
TREE_DEPTH, TREE_FACTOR = 64, 4.0
"""Of Arctic's tree, so that its drafts may be as long as ours."""


def documents(tokenizer: Tokenizer, tokens: int) -> list[Tokens]:
    """Return installed source files as token ids, at least so many tokens in all, no file twice."""
    entries: list[Tokens] = []
    paths = sorted(
        path for root in map(Path, sys.path) if root.is_dir() for path in root.rglob("*.py")
    )
    random.Random(3).shuffle(paths)
    texts = list(each_once((path, _text(path)) for path in paths))
    for start in range(0, len(texts), BATCH_FILES):
        batch = tokenizer.encode_batch(texts[start : start + BATCH_FILES])
        entries += [np.array(each.ids, dtype=np.int32) for each in batch]
        if sum(map(len, entries)) >= tokens:
            break
    return entries


def each_once(files: Iterable[tuple[Path, str]]) -> Iterator[str]:
    """Yield the text of each file of which none before had the same words, or the same place.

    Packages are installed in several versions and carry copies of others: what is to be unseen
    would else stand in the history.
    """
    seen: set[object] = set()
    for path, text in files:
        signs = {path.parts[-SAME_PLACE_PARTS:], hash(tuple(text.split()))}
        if text.strip() and not signs & seen:
            yield text
        seen |= signs


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="ignore")[:LONGEST_FILE_CHARACTERS]
    except OSError:
        return ""


def bytes_per_token(capacity: int) -> float:
    """Return what a history of such a capacity takes for each token."""
    return SharedHistory.empty(capacity).index.size_bytes / capacity


def ours(known: list[Tokens], unseen: list[Tokens], capacity: int) -> dict[str, float]:
    """Return the figures of our history."""
    history = SharedHistory.empty(capacity)
    history.add(known[0])  # compiled
    inserted = _microseconds_each(known, history.add)

    def prepare(context: Tokens) -> Callable[[Tokens], Sequence[int]]:
        drafter = Drafter(DraftRule.own(64), history)
        drafter.propose(0, context, 0)
        return lambda token: drafter.propose(0, token, 64)

    return {
        "bytes_per_token": bytes_per_token(capacity),
        "insert_microseconds_per_token": inserted,
        **_step_figures(unseen, prepare),
    }


def arctics(tree: Any, known: list[Tokens], unseen: list[Tokens]) -> dict[str, float]:
    """Return the figures of Arctic's suffix tree for the same texts."""
    numbers = iter(range(len(known)))
    inserted = _microseconds_each(known, lambda text: tree.extend_ndarray(next(numbers), text))
    total = sum(map(len, known))

    def prepare(context: Tokens) -> Callable[[Tokens], Sequence[int]]:
        def propose(token: Tokens) -> Sequence[int]:
            end = np.concatenate((context, token))[-TREE_DEPTH:]
            drafted: Sequence[int] = tree.speculate_ndarray(
                end, 64, TREE_FACTOR, 0.0, 0.1, False
            ).token_ids
            return drafted

        return propose

    return {
        "bytes_per_token": tree.estimate_memory() / total,
        "insert_microseconds_per_token": inserted,
        **_step_figures(unseen, prepare),
    }


def _microseconds_each(known: list[Tokens], insert: Callable[[Tokens], object]) -> float:
    started = time.process_time()
    for text in known:
        insert(text)
    return 1e6 * (time.process_time() - started) / sum(map(len, known))


def _step_figures(
    unseen: list[Tokens], prepare: Callable[[Tokens], Callable[[Tokens], Sequence[int]]]
) -> dict[str, float]:
    took, accepted = [], 0
    for text, place in _places(unseen):
        propose = prepare(text[max(0, place - CONTEXT_TOKENS) : place])
        started = time.perf_counter_ns()
        draft = propose(text[place : place + 1])
        took.append((time.perf_counter_ns() - started) / 1000)
        right = text[place + 1 : place + 1 + len(draft)].tolist()
        accepted += next(
            (n for n, (a, b) in enumerate(zip(draft, right, strict=False)) if a != b), len(right)
        )
    return {
        "step_p50_microseconds": percentile(took, 0.5),
        "step_p99_microseconds": percentile(took, 0.99),
        "accepted_per_step": accepted / len(took),
    }


def _places(unseen: list[Tokens]) -> Iterator[tuple[Tokens, int]]:
    rng = random.Random(1)
    long_ones = [text for text in unseen if len(text) > 2 * CONTEXT_TOKENS]
    for _ in range(STEPS):
        text = rng.choice(long_ones)
        yield text, rng.randrange(CONTEXT_TOKENS // 10, len(text) - 80)
