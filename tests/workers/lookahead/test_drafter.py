"""Drafts are what stood behind the same words before, and never anything else."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tests.workers.lookahead.reference import ReferenceDrafter
from workers.lookahead.drafter import Drafter, Turn
from workers.lookahead.history import SharedHistory
from workers.lookahead.layout import SEPARATOR
from workers.lookahead.rules import DraftRule

TOKENS = st.integers(0, 5)  # few, so that matches abound and no two short n-grams share a bucket
RULES = st.one_of(
    st.builds(DraftRule.documented, st.integers(1, 40)),
    st.builds(DraftRule.own, st.integers(1, 40), st.integers(1, 8), st.integers(0, 80)),
    st.builds(
        DraftRule,
        cap=st.integers(1, 40),
        factor=st.integers(1, 4),
        match=st.integers(0, 12),
        chain=st.just(10_000),
        shared_chain=st.just(10_000),
        is_anchored=st.booleans(),
        resume=st.integers(0, 20),
        least_match=st.integers(1, 4),
    ),
    st.builds(DraftRule.filling, st.integers(1, 40)),
)
DOCUMENTS = st.lists(st.lists(TOKENS, min_size=1, max_size=60), max_size=5)


def _history(documents: list[list[int]], capacity: int) -> SharedHistory:
    history = SharedHistory.empty(capacity)
    for document in documents:
        history.add(document)
    return history


@examples(300)
@given(RULES, st.lists(TOKENS, min_size=1, max_size=200), DOCUMENTS, st.data())
def test_drafts_are_those_of_the_plain_rule(
    rule: DraftRule, prompt: list[int], documents: list[list[int]], data: st.DataObject
) -> None:
    history = _history(documents, 1000)
    drafter = Drafter(rule, history)
    reference = ReferenceDrafter(rule, [t for each in documents for t in [*each, SEPARATOR]])
    new = prompt
    for _ in range(8):
        draft = drafter.propose("a", new, 1000)
        assert draft == reference.propose(new, 1000)
        accepted = data.draw(st.integers(0, len(draft)))
        new = [*draft[:accepted], data.draw(TOKENS)]


@examples(200)
@given(RULES, st.lists(TOKENS, min_size=1, max_size=80), DOCUMENTS, st.integers(2, 50))
def test_a_draft_is_a_true_continuation_of_what_is_still_kept(
    rule: DraftRule, prompt: list[int], documents: list[list[int]], capacity: int
) -> None:
    history = _history(documents, capacity)
    drafter = Drafter(rule, history)
    draft = drafter.propose("a", prompt, 1000)
    assert len(draft) <= rule.longest_draft
    if draft:
        kept = [prompt, *_documents_of(history.index.tokens().tolist())]
        assert any(_goes_on(text, prompt[-1], draft) for text in kept)


def _documents_of(tokens: list[int]) -> list[list[int]]:
    documents: list[list[int]] = [[]]
    for token in tokens:
        documents.append([]) if token == SEPARATOR else documents[-1].append(token)
    return documents


def _goes_on(text: list[int], last: int, draft: list[int]) -> bool:
    targets = [last, *draft]
    return any(text[i : i + len(targets)] == targets for i in range(len(text)))


def test_k_tokens_are_drafted_for_a_match_of_k() -> None:
    text = [1, 2, 3, 4, 5, 6, 7, 8, 9]
    for matched in (1, 2, 3):
        drafter = Drafter(DraftRule.documented(8))
        draft = drafter.propose("a", [*text, 50, *text[:matched]], 100)
        assert draft == text[matched : 2 * matched]


def test_no_draft_is_longer_than_asked_for() -> None:
    drafter = Drafter(DraftRule.documented(8))
    text = list(range(20))
    assert drafter.propose("a", [*text, *text[:10]], 3) == text[10:13]
    assert drafter.propose("a", [text[10]], 0) == []
    assert drafter.propose("a", [text[11]], -1) == []


def test_text_that_repeats_itself_gets_whole_drafts() -> None:
    drafter = Drafter(DraftRule.documented(8))
    assert drafter.propose("a", [7] * 40, 100) == [7] * 8


def test_a_copy_goes_on_behind_an_edit_at_the_place_that_it_left() -> None:
    line = [1, 2, 3, 4, 5, 6, 7, 8]
    source = [token for n in range(10, 22) for token in [n, *line]]  # every line ends alike
    answered = source[:27]
    drafter = Drafter(DraftRule.own(16))
    assert drafter.propose("a", [*source, 99, *answered], 100) == source[27:43]
    replaced = [*source[27:31], 77, 78, 79, 8]  # the fourth line, from its fifth token on
    assert drafter.propose("a", replaced, 100) == source[36:52]


def test_drafts_grow_while_a_whole_file_is_copied() -> None:
    source = list(range(2000))
    drafter = Drafter(DraftRule.own(16, copy_cap=64))
    new, lengths = [*source, 0, 1, 2, 3, 4], []
    for _ in range(6):
        draft = drafter.propose("a", new, 1000)
        lengths.append(len(draft))
        new = [*draft, draft[-1] + 1]
    assert lengths == [16, 16, 16, 64, 64, 64]


def test_alternatives_begin_differently_and_leave_the_request_as_it_was() -> None:
    drafter = Drafter(DraftRule.documented(4))
    prompt = [1, 2, 3, 40, 9, 1, 2, 3, 50, 9, 1, 2, 3, 60, 9, 1, 2, 3]
    best = drafter.propose("a", prompt, 4)
    drafts = drafter.alternatives("a", 4, 5)
    assert drafts[0] == best
    assert sorted(each[0] for each in drafts) == [40, 50, 60]
    assert drafter.text_of("a").tolist() == prompt


def test_requests_are_told_apart_and_forgotten() -> None:
    drafter = Drafter(DraftRule.documented(8))
    text = list(range(30))
    turns = [Turn("a", [*text, 0, 1, 2, 3], 9), Turn("b", [*text[::-1], 29, 28], 9)]
    assert drafter.propose_batch(turns) == [[4, 5, 6, 7], [27, 26]]
    drafter.finish("a")
    drafter.finish("nobody")
    assert len(drafter) == 1
    assert drafter.propose("a", [0, 1, 2, 3], 9) == []


def test_a_long_request_forgets_nothing() -> None:
    drafter = Drafter(DraftRule.documented(8))
    text = np.arange(5000)
    for start in range(0, 5000, 700):
        drafter.propose("a", text[start : start + 700], 8)
    assert drafter.propose("a", [0, 1, 2, 3], 8) == [4, 5, 6, 7]


def test_what_ended_helps_those_that_come_after_it() -> None:
    drafter = Drafter(DraftRule.documented(8), SharedHistory.empty(1000))
    drafter.propose("a", list(range(30)), 8)
    drafter.finish("a")
    assert drafter.propose("b", [100, 3, 4, 5, 6], 8) == [7, 8, 9, 10]
