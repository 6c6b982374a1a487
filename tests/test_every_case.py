import pytest

from tests.every_case import every_case


def test_all_are_tried_and_each_that_fails_is_told_with_its_case() -> None:
    tried = []

    @every_case("number, word", [(1, "a"), (2, "b"), (3, "c")], ids=lambda case: case[1])
    def odd(number: int, word: str) -> None:
        tried.append(word)
        assert number % 2, "even"
        assert number != 3, "three"

    with pytest.raises(ExceptionGroup) as raised:
        odd()

    assert tried == ["a", "b", "c"]
    assert str(raised.value).startswith("2 of 3 cases")
    notes = [each.__notes__ for each in raised.value.exceptions]
    assert notes == [["The case: b"], ["The case: c"]]
    assert [str(each).split("\n")[0] for each in raised.value.exceptions] == ["even", "three"]


def test_a_test_of_no_case_is_refused() -> None:
    with pytest.raises(AssertionError, match="no case"):
        every_case("number", [])
