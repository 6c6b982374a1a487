"""Lookahead in vLLM: the class that `--speculative-config` names as `custom_class`.

Imported by vLLM's own Python, where nothing else of this program is: numba and numpy must do. vLLM
gives all rows of a step and takes back a draft for each, of any length. Its graphs are for drafts
of one length: where most rows draft, all drafts are filled up to that. What is filled in costs
nothing, and is rejected.

Source: vLLM 0.25.0 to 0.33.0, `v1/spec_decode/custom_class_proposer.py` and
`propose_draft_token_ids` of `v1/worker/gpu_model_runner.py`, 2026-11-30.
"""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from workers.lookahead.drafting import step
from workers.lookahead.layout import Block
from workers.lookahead.request_state import NO_BLOCK, NO_HEADER
from workers.lookahead.row_states import RowState, RowStates
from workers.lookahead.rules import DraftRule
from workers.lookahead.token_index import as_block
from workers.lookahead.vllm_graphs import record_small_steps

BREAK_EVEN_TOKENS: Final = 0.35
"""Accepted tokens that make up for the longer step: on one H200, with the older model runner, a
step of 128 tokens took 7.3 ms and one of a single token 5.5 (docs/evidence.md)."""
MOST_STEP_TOKENS: Final = 512
"""Of all rows: vLLM has no graph for more, and verifying them would cost arithmetic."""
WARM_UP = ([[3]], np.array([8]), np.array([[1, 2, 3, 4, 1, 2, 3, 3]], dtype=np.int32))

Drafts = list[list[int]]


class LookaheadProposer:
    """Drafts for every row from that row's own text."""

    def __init__(self, vllm_config: Any) -> None:
        record_small_steps(vllm_config.compilation_config)
        self._cap = int(vllm_config.speculative_config.num_speculative_tokens)
        self._longest_text = int(vllm_config.model_config.max_model_len)
        budget = int(vllm_config.scheduler_config.max_num_batched_tokens)
        self._most_step_tokens = min(MOST_STEP_TOKENS, budget)
        self._rule = DraftRule.filling(self._cap)
        self._numbers = self._rule.numbers()
        self._rows = self._no_rows()
        for _ in range(2):  # the second finds the first again: all is compiled before vLLM is ready
            self.propose(*WARM_UP)
        self._rows = self._no_rows()

    def load_model(self, *_given: Any, **_named: Any) -> None:
        """Load nothing: there is no model."""

    def propose(self, *given: Any, **_named: Any) -> Drafts:
        """Return a draft for each row: sampled tokens, lengths and texts of the rows are given.

        A number of tokens may stand before them, as it does for vLLM's own drafters.
        """
        sampled, lengths, texts = given[-3:]
        most = min(self._cap, int(given[0])) if len(given) > 3 else self._cap
        rows = [
            self._text(texts[row], int(lengths[row])) if tokens else None
            for row, tokens in enumerate(sampled)
        ]
        return self._drafts(rows, self._most_of(len(rows), most))

    def _no_rows(self) -> RowStates:
        return RowStates(self._rule.longest_draft, BREAK_EVEN_TOKENS)

    def _text(self, tokens: Any, length: int) -> Block | None:
        """Return the text of a row; None where nothing can follow."""
        return as_block(tokens[:length]) if 0 < length < self._longest_text else None

    def _most_of(self, rows: int, most: int) -> int:
        return min(most, self._most_step_tokens // max(1, rows) - 1)

    def _drafts(self, texts: Sequence[Block | None], most: int) -> Drafts:
        states = self._rows.of(texts)
        drafts = [
            [] if state is None or text is None else self._draft(state, text, most)
            for state, text in zip(states, texts, strict=True)
        ]
        drafting = sum(map(bool, drafts))
        if most < self._cap or 2 * drafting < len(drafts) or not drafting:
            return drafts
        return [
            draft if text is None else _filled(draft, text, most)
            for draft, text in zip(drafts, texts, strict=True)
        ]

    def _draft(self, state: RowState, text: Block, most: int) -> list[int]:
        request = state.request
        new = text[request.index.total :]
        if state.drafted:
            state.guard.observe(_agreeing(request.drafted[: state.drafted], new))
        most = max(0, most) if state.guard.may_draft() else 0
        request.make_room(len(new))
        state.drafted = step(
            request.index.header, request.index.block, NO_HEADER, NO_BLOCK, self._numbers,
            request.numbers, new, most, request.drafted,
        )  # fmt: skip
        drafted: list[int] = request.drafted[: state.drafted].tolist()
        return drafted


def _agreeing(draft: Block, tokens: Block) -> int:
    both = min(len(draft), len(tokens))
    equal = draft[:both] == tokens[:both]
    return both if equal.all() else int(np.argmin(equal))


def _filled(draft: list[int], text: Block, length: int) -> list[int]:
    last = draft[-1] if draft else int(text[-1])
    return draft + [last] * (length - len(draft))
