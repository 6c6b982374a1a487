"""How many tokens a step yields, where the model answers what is known beforehand."""

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np

from benchmarks.lookahead_parts.texts import Job, Tokens
from workers.lookahead.drafter import Drafter
from workers.lookahead.rules import DraftRule


class Proposer(Protocol):
    """Drafts for one request."""

    def __call__(self, tokens: Tokens, most: int) -> Sequence[int]: ...


def by_rule(rule: DraftRule) -> Callable[[], Proposer]:
    """Return what makes a proposer of our library for each request."""

    def make() -> Proposer:
        drafter = Drafter(rule)
        return lambda tokens, most: drafter.propose(0, tokens, most)

    return make


def scan(n_least: int, n_most: int, drafted: int) -> Callable[[], Proposer]:
    """Return vLLM's rule: longest n-gram within bounds, its earliest place, always as many tokens.

    Source: vLLM 0.33, speculative decoding, n-gram, 2026-11-27.
    """

    def make() -> Proposer:
        text: list[int] = []
        first: dict[tuple[int, ...], int] = {}

        def propose(tokens: Tokens, most: int) -> Sequence[int]:
            for token in tokens.tolist():
                for size in range(n_least, min(n_most, len(text)) + 1):
                    first.setdefault(tuple(text[-size:]), len(text))
                text.append(token)
            for size in range(min(n_most, len(text)), n_least - 1, -1):
                place = first.get(tuple(text[-size:]))
                if place is not None:
                    return text[place : place + min(drafted, most)]
            return []

        return propose

    return make


def tokens_per_step(make: Callable[[], Proposer], jobs: list[Job]) -> tuple[float, float]:
    """Return the tokens that a step yields over all jobs, and the share of drafts accepted."""
    tokens = steps = drafted = accepted = 0
    for job in jobs:
        propose, place, new = make(), 0, job.prompt
        while place < len(job.answer):
            left = len(job.answer) - place
            draft = propose(new, left - 1)
            right = _agreeing(draft, job.answer[place:])
            new = job.answer[place : place + right + 1]
            place, steps = place + len(new), steps + 1
            drafted, accepted = drafted + len(draft), accepted + right
        tokens += len(job.answer)
    return tokens / steps, accepted / max(1, drafted)


def _agreeing(draft: Sequence[int], answer: Tokens) -> int:
    both = min(len(draft), len(answer))
    if not both:
        return 0
    equal = np.asarray(draft[:both]) == answer[:both]
    return both if equal.all() else int(np.argmin(equal))
