"""How far two clocks are apart, in words."""

import pytest

from controlplane.domain.skew import noticed, skew_words


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, ""),
        (61, "1 minute ahead"),
        (-7200, "2 hours behind"),
        (86_400, "1 day ahead"),
        (40 * 86_400, "40 days ahead"),
        (-40 * 86_400 + 3, "40 days behind"),
    ],
)
def test_it_is_told_in_its_largest_unit(seconds: int, words: str) -> None:
    assert skew_words(seconds) == words


def test_what_a_message_takes_is_no_difference() -> None:
    assert [noticed(each) for each in (59.6, -60.0, 60.4, -86_400.2)] == [0, 0, 60, -86_400]
