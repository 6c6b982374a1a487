"""What replicas were sent lately is found again, and costs no more than it may."""

from workers.gateway.choice.prefix_index import PrefixIndex
from workers.gateway.choice.prompts import Prompt

BOTH = {"a", "b"}


def prompt(*blocks: int) -> Prompt:
    return Prompt(list(blocks), [10 * (each + 1) for each in range(len(blocks))], "")


def test_the_replica_that_knows_most_is_found_with_the_letters_it_knows() -> None:
    index = PrefixIndex()
    index.remember(prompt(1, 2), "a")
    index.remember(prompt(1, 2, 3), "b")
    assert index.longest(prompt(1, 2, 3, 4), BOTH) == (("b",), 30)
    assert index.longest(prompt(1, 2, 9, 9), BOTH) == (("b", "a"), 20)
    assert index.longest(prompt(8, 9), BOTH) == ((), 0)


def test_one_that_cannot_be_chosen_leaves_it_to_who_knows_less() -> None:
    index = PrefixIndex()
    index.remember(prompt(1, 2), "a")
    index.remember(prompt(1, 2, 3), "b")
    assert index.longest(prompt(1, 2, 3), {"a"}) == (("a",), 20)


def test_it_never_holds_more_than_it_may_and_keeps_what_is_used() -> None:
    index = PrefixIndex(most_blocks=40)
    for number in range(100):
        index.remember(prompt(0, 1000 + number), "a")
        assert len(index) <= 40 + 2
    assert index.longest(prompt(0, 1099), BOTH) == (("a",), 20)
    assert index.longest(prompt(0, 1000), BOTH) == (("a",), 10), "its end is long forgotten"
