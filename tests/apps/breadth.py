"""How much of a test over all pages or operations runs: a part in every run, all in `make test`."""

from collections.abc import Callable, Sequence

import pytest

STRIDE = 6
Choose = Callable[[Sequence[str]], Sequence[str]]


def every_sixth(names: Sequence[str]) -> Sequence[str]:
    """Return a part that holds something of every area."""
    return names[::STRIDE]


chosen = pytest.mark.parametrize(
    "choose",
    [pytest.param(every_sixth, id="some"), pytest.param(list, id="all", marks=pytest.mark.wide)],
)
"""For a test that asks for all names one after the other."""


def without_parts(items: Sequence[pytest.Item]) -> list[pytest.Item]:
    """Return the tests but for those of some names that the same run tries with all."""
    whole = {each.nodeid.removesuffix("all]") for each in items if each.nodeid.endswith("all]")}
    return [each for each in items if each.nodeid.removesuffix("some]") not in whole]


def each_of(argument: str, names: Sequence[str]) -> pytest.MarkDecorator:
    """Return the parametrisation for a test that is given one name."""
    some = set(every_sixth(names))
    return pytest.mark.parametrize(
        argument,
        [name if name in some else pytest.param(name, marks=pytest.mark.wide) for name in names],
    )
