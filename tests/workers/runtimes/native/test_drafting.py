"""The rows of the native engine draft by the rule that their config asks for."""

import subprocess
import sys

import pytest

from workers.lookahead.row_drafter import rule_of
from workers.runtimes.native.command_line import parse
from workers.runtimes.native.drafting import drafters

TEXT = [7, 2, 3, 4, 5, 6, 1, 8, 2, 3]


def _drafted(ngram: int, factor: int, tokens: list[int], most: int) -> list[int]:
    return list(drafters(ngram, factor, "cuda")().propose(tokens, most))


def test_a_match_of_n_tokens_is_worth_n_up_to_the_ngram() -> None:
    assert _drafted(3, 1, [1, 2, 3, 4, 5, 6, 1, 2, 3], 9) == [4, 5, 6]
    assert _drafted(3, 1, [7, 2, 3, 4, 5, 6, 1, 2, 3], 9) == [4, 5]
    assert _drafted(2, 1, [1, 2, 3, 4, 5, 1, 2, 3], 9) == [4, 5]
    assert _drafted(8, 1, [1, 2, 3, 4, 5, 6, 1, 2, 3], 2) == [4, 5]
    assert _drafted(8, 1, [1, 2, 3], 2) == []


def test_a_factor_lengthens_what_a_match_is_worth_up_to_the_ngram() -> None:
    assert _drafted(8, 2, TEXT, 9) == [4, 5, 6, 1]
    assert _drafted(3, 2, TEXT, 9) == [4, 5, 6]
    assert _drafted(8, 2, TEXT, 2) == [4, 5]


def test_a_row_takes_in_only_what_it_has_not_seen() -> None:
    drafter, tokens = drafters(2, 1, "cuda")(), [1, 2, 8, 1, 2]
    assert list(drafter.propose(tokens, 9)) == [8, 1]
    tokens += [9, 1, 2]
    assert list(drafter.propose(tokens, 9)) == [9, 1]


def test_what_a_grammar_cut_off_counts_as_no_failure() -> None:
    drafter, period = drafters(8, 1, "cuda")(), list(range(10, 30))
    tokens, lengths = [*period, *period], []
    for step in range(80):
        lengths.append(len(drafter.propose(tokens, 8)))
        drafter.shorten(2)  # of which both are right
        tokens += [*period[:2], 1000 + step, *period]
    assert lengths == [8] * 80


@pytest.mark.parametrize(("device", "first", "last"), [("cpu", 4, 0), ("cuda", 8, 1)])
def test_drafts_that_are_never_right_grow_short_and_long_again(
    device: str, first: int, last: int
) -> None:
    drafter, period = drafters(8, 1, device)(), list(range(10, 30))
    tokens, lengths = [*period, *period], []
    for step in range(200):
        lengths.append(len(drafter.propose(tokens, 100)))
        # What was drafted is never what came, and the match is always a long one.
        tokens += [1000 + step, *period[:12]]
    assert lengths[0] == first
    assert lengths[-1] <= 1
    assert min(lengths[100:]) == last
    written = 3 * len(period)
    tokens += 3 * period
    for _ in range(200):
        draft = drafter.propose(tokens, 100)
        grown = len(draft) + 1
        tokens += [period[place % len(period)] for place in range(written, written + grown)]
        written += grown
    assert len(draft) == 8


@pytest.mark.parametrize(("factor", "is_anchored"), [(1, False), (2, True), (4, True)])
def test_a_factor_beyond_the_documented_one_brings_our_rule(factor: int, is_anchored: bool) -> None:
    assert rule_of(16, factor).is_anchored == is_anchored


def test_the_command_line_says_whether_rows_draft() -> None:
    common = ["--model-dir", "x"]
    assert parse(common)[1].make_drafter is None
    make = parse([*common, "--lookahead-ngram-size", "8", "--draft-factor", "2"])[1].make_drafter
    assert make is not None
    assert list(make().propose(TEXT, 9)) == [4, 5, 6, 1]


def test_a_command_line_is_read_before_any_compiler_is_loaded() -> None:
    code = (
        "import sys; from workers.runtimes.native.command_line import parse;"
        "parse(['--model-dir', 'x', '--lookahead-ngram-size', '8']);"
        "assert 'numba' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
