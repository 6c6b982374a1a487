"""No tenant learns from another's requests."""

from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from workers.lookahead.drafter import Drafter
from workers.lookahead.histories import Histories
from workers.lookahead.rules import DraftRule

RULE = DraftRule.own(16)


@examples(100)
@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.lists(st.integers(0, 4), min_size=4)), max_size=8)
)
def test_a_hostile_tenant_is_drafted_what_it_would_be_alone(
    said: list[tuple[str, list[int]]],
) -> None:
    shared, alone = Histories(500, most=10), Histories(500, most=10)
    for tenant, document in said:
        shared.of("deployment", tenant).add(document)
        if tenant == "a":
            alone.of("deployment", tenant).add(document)
    for probe in ([0, 1, 2], [3, 3, 3, 3], [4, 0, 4, 1]):
        drafts = [
            Drafter(RULE, each.of("deployment", "a")).propose(0, probe, 16)
            for each in (shared, alone)
        ]
        assert drafts[0] == drafts[1]


def test_deployments_are_apart_too() -> None:
    histories = Histories(500, most=10)
    histories.of("one", "a").add(range(30))
    assert Drafter(RULE, histories.of("two", "a")).propose(0, [3, 4, 5], 16) == []
    assert Drafter(RULE, histories.of("one", "a")).propose(0, [3, 4, 5], 16) == [*range(6, 18)]


def test_the_longest_unused_history_makes_room() -> None:
    histories = Histories(500, most=2)
    for tenant in ("a", "b", "a", "c"):
        histories.of("one", tenant).add([ord(tenant), 1, 2, 3])
    assert len(histories) == 2
    assert len(histories.of("one", "a").index) > 0
    assert len(histories.of("one", "b").index) == 0
