"""A layered map is what a dictionary is, and those before it stay as they were."""

from hypothesis import given
from hypothesis import strategies as st

from workers.gateway.layered_map import LayeredMap

_CHANGES = st.dictionaries(st.integers(0, 12), st.none() | st.integers(), max_size=4)


@given(rows=st.dictionaries(st.integers(0, 12), st.integers()), changes=st.lists(_CHANGES))
def test_it_is_what_a_dictionary_is_that_was_changed_likewise(
    rows: dict[int, int], changes: list[dict[int, int | None]]
) -> None:
    known, maps = dict(rows), [(LayeredMap(rows), rows)]
    for change in changes:
        known = {key: value for key, value in (known | change).items() if value is not None}
        maps.append((maps[-1][0].with_changes(change), known))
    for layered, wanted in maps:
        assert (layered, len(layered), set(layered)) == (wanted, len(wanted), set(wanted))
        assert [layered.get(key, "no") for key in range(13)] == [
            wanted.get(key, "no") for key in range(13)
        ]
        assert [key in layered for key in range(13)] == [key in wanted for key in range(13)]


def test_of_a_large_one_what_nobody_changed_is_seldom_copied() -> None:
    layered = LayeredMap(dict.fromkeys(range(10_000), 1))
    below, copies = layered._below, 0
    for turn in range(1000):
        layered = layered.with_changes({turn: 2})
        copies += layered._below is not below
        below = layered._below
    assert copies <= 10
    assert sum(layered.values()) == 11_000
