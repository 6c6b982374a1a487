"""The real drafter over recorded answers: what each step would have drafted and got accepted."""

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np

from controlplane.domain.lookahead_tuning.counted import Counted
from controlplane.domain.lookahead_tuning.settings import DraftManner, LookaheadSetting
from workers.build_steps.lookahead_tuning.exchanges import Exchange, Tokens
from workers.lookahead.drafter import Drafter
from workers.lookahead.limits import BreakEven
from workers.lookahead.row_drafter import row_drafter
from workers.lookahead.rules import DraftRule
from workers.lookahead.vllm_proposer import BREAK_EVEN_TOKENS


class Proposer(Protocol):
    """Drafts for one answer; it is told the tokens that the text has grown by."""

    def propose(self, new: Tokens, most: int) -> Sequence[int]: ...


class Simulation:
    def __init__(self, setting: LookaheadSetting, device: str) -> None:
        self._setting = setting
        self._make = _maker(setting, device)
        self._accepted_at = np.zeros(setting.longest_draft_tokens, dtype=np.int64)
        self._tokens = self._steps = self._drafted_steps = self._drafted_tokens = 0

    def say(self, exchange: Exchange) -> None:
        if not self._setting.is_on:
            self._tokens += len(exchange.answer)
            self._steps += len(exchange.answer)
            return
        proposer, new, place = self._make(), exchange.prompt, 0
        while place < len(exchange.answer):
            draft = proposer.propose(new, self._setting.longest_draft_tokens)
            right = _agreeing(draft, exchange.answer[place:])
            self._count(len(draft), right)
            new = exchange.answer[place : place + right + 1]
            self._tokens += len(new)
            place += len(new)

    def counted(self) -> Counted:
        return Counted(
            setting=self._setting,
            tokens=self._tokens,
            steps=self._steps,
            drafted_steps=self._drafted_steps,
            drafted_tokens=self._drafted_tokens,
            accepted_at=self._accepted_at.tolist(),
        )

    def _count(self, drafted: int, right: int) -> None:
        self._steps += 1
        if drafted:
            self._drafted_steps += 1
            is_filled = self._setting.manner is not DraftManner.BY_MATCH
            self._drafted_tokens += self._setting.longest_draft_tokens if is_filled else drafted
            self._accepted_at[:right] += 1


class _ByMatch:
    """A row of the native engine, whose drafter sees its whole text each time."""

    def __init__(self, setting: LookaheadSetting, device: str) -> None:
        self._row = row_drafter(setting.longest_draft_tokens, setting.draft_factor, device)
        self._text: list[int] = []

    def propose(self, new: Tokens, most: int) -> Sequence[int]:
        self._text += new.tolist()
        return self._row.propose(self._text, most)


class _Filled:
    """A row under vLLM: whole drafts wherever two tokens match, and rests while they cost more."""

    def __init__(self, setting: LookaheadSetting) -> None:
        self._drafter = Drafter(DraftRule.filling(setting.longest_draft_tokens))
        self._guard = BreakEven(BREAK_EVEN_TOKENS)
        self._draft: Sequence[int] = ()

    def propose(self, new: Tokens, most: int) -> Sequence[int]:
        if self._draft:
            self._guard.observe(_agreeing(self._draft, new))
        most = most if self._guard.may_draft() else 0
        self._draft = self._drafter.propose(0, new, most)
        return self._draft


class _Suffix:
    """What stood behind the longest suffix, at its latest place: as suffix automata draft."""

    def __init__(self, setting: LookaheadSetting) -> None:
        longest = setting.longest_draft_tokens
        self._drafter = Drafter(DraftRule(cap=longest, factor=longest, match=64))

    def propose(self, new: Tokens, most: int) -> Sequence[int]:
        return self._drafter.propose(0, new, most)


def _maker(setting: LookaheadSetting, device: str) -> Callable[[], Proposer]:
    match setting.manner:
        case DraftManner.BY_MATCH:
            return lambda: _ByMatch(setting, device)
        case DraftManner.SUFFIX:
            return lambda: _Suffix(setting)
        case _:
            return lambda: _Filled(setting)


def _agreeing(draft: Sequence[int], tokens: Tokens) -> int:
    both = min(len(draft), len(tokens))
    if not both:
        return 0
    equal = np.asarray(draft[:both]) == tokens[:both]
    return both if equal.all() else int(np.argmin(equal))
