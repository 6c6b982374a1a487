"""Two changes of one text become one text, and neither loses a line."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.domain.text_merge import merge_texts

BASE = "a: 1\nb: 2\nc: 3\nd: 4\n"
LINES = st.lists(st.sampled_from(["a", "b", "c", "d"]), max_size=6).map(
    lambda lines: "".join(f"{line}\n" for line in lines)
)


@pytest.mark.parametrize(
    ("theirs", "mine", "merged"),
    [
        ("a: 9\nb: 2\nc: 3\nd: 4\n", "a: 1\nb: 2\nc: 3\nd: 8\n", "a: 9\nb: 2\nc: 3\nd: 8\n"),
        ("a: 9\nb: 2\nc: 3\nd: 4\n", "a: 1\nb: 8\nc: 3\nd: 4\n", "a: 9\nb: 8\nc: 3\nd: 4\n"),
        ("b: 2\nc: 3\nd: 4\n", BASE + "e: 5\n", "b: 2\nc: 3\nd: 4\ne: 5\n"),
        (BASE + "e: 5\n", BASE, BASE + "e: 5\n"),
        (BASE + "e: 5\n", BASE + "e: 5\n", BASE + "e: 5\n"),
    ],
)
def test_changes_of_different_lines_are_both_there(theirs: str, mine: str, merged: str) -> None:
    merge = merge_texts(BASE, theirs, mine)
    assert merge.text == merged
    assert merge.clashes == ()


def test_a_line_that_both_changed_is_mine_and_is_named() -> None:
    merge = merge_texts(BASE, BASE.replace("b: 2", "b: 7"), BASE.replace("b: 2", "b: 8"))
    assert merge.text == BASE.replace("b: 2", "b: 8")
    [clash] = merge.clashes
    assert (clash.base, clash.theirs, clash.mine) == ("b: 2", "b: 7", "b: 8")


def test_lines_that_both_added_at_one_place_clash() -> None:
    merge = merge_texts(BASE, BASE + "# theirs\n", BASE + "# mine\n")
    assert merge.text == BASE + "# mine\n"
    assert merge.clashes[0].theirs == "# theirs"


@given(base=LINES, theirs=LINES, mine=LINES)
def test_whoever_changed_nothing_gets_the_other(base: str, theirs: str, mine: str) -> None:
    assert merge_texts(base, theirs, base).text == theirs
    assert merge_texts(base, base, mine).text == mine
    assert merge_texts(base, mine, mine).text == mine
    merge = merge_texts(base, theirs, mine)
    assert merge.clashes or merge_texts(base, mine, theirs).text == merge.text
