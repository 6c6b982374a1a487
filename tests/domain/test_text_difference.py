"""Two texts -> the lines that differ, and no more around them than is needed."""

from controlplane.domain.text_difference import text_difference


def shown(before: str, after: str) -> list[str]:
    return [str(line) for line in text_difference(before, after)]


def test_a_changed_line_stands_between_its_neighbours() -> None:
    before = "a: 1\nb: 2\nc: 3\nd: 4\ne: 5\nf: 6\ng: 7\n"
    assert shown(before, before.replace("d: 4", "d: 8")) == [
        "…", "  b: 2", "  c: 3", "- d: 4", "+ d: 8", "  e: 5", "  f: 6", "…",
    ]  # fmt: skip


def test_added_and_removed_lines_are_marked_and_distant_changes_kept_apart() -> None:
    before = "\n".join(f"k{number}: 0" for number in range(12))
    after = before.replace("k0: 0\n", "").replace("k11: 0", "k11: 0\nk12: 0")
    assert shown(before, after) == [
        "- k0: 0", "  k1: 0", "  k2: 0", "…", "  k10: 0", "  k11: 0", "+ k12: 0",
    ]  # fmt: skip


def test_the_same_text_differs_in_nothing() -> None:
    assert shown("a: 1\n", "a: 1\n") == []
