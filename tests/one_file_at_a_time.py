"""Each process of a run with xdist imports a file of tests when it is given that file, not before.

xdist has every process collect every test. With a thousand files that is half a minute of CPU for
each, mostly for what others then run. Here a process tells files for tests, gets some of them, and
collects each when its turn comes.
"""

import gc
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence

import pytest
from _pytest.runner import collect_one_node

Node = pytest.Item | pytest.Collector
_AT_WORK: pytest.StashKey[Sequence[pytest.Item]] = pytest.StashKey()


def items_at_work(session: pytest.Session) -> Sequence[pytest.Item]:
    """Return the chosen tests of the unit that runs; of the whole run where there are no units."""
    return session.stash.get(_AT_WORK, session.items)


class Unit(pytest.Item):
    """What one process runs by itself: a file, or several that share what is dear to make."""

    nodes: Sequence[Node]
    items: list[pytest.Item] | None = None
    running: pytest.Item | None = None

    @classmethod
    def of(cls, session: pytest.Session, place: str, nodes: Sequence[Node]) -> "Unit":
        """Return the unit of these files, named by their place."""
        unit = cls.from_parent(session, name=place, nodeid=place)
        unit.nodes = nodes
        return unit

    @property
    def nodeid(self) -> str:
        """The test at work, since xdist holds each report against the item that it asked for."""
        return self.running.nodeid if self.running else super().nodeid

    def runtest(self) -> None:
        """Never happens: each of its tests is run by itself."""
        raise AssertionError("a unit's tests are run by themselves")

    def collected(self) -> list[pytest.Item]:
        """Return its tests as chosen by marks and in their order."""
        if self.items is None:
            gc.disable()  # not frozen as at a start: garbage of the tests before is among it
            self.items = [item for node in self.nodes for item in self.session.genitems(node)]
            gc.enable()
            self.config.hook.pytest_collection_modifyitems(
                session=self.session, config=self.config, items=self.items
            )
        return self.items


class OneFileAtATime:
    """A pytest plugin for the processes of xdist."""

    def __init__(self, place_of: Callable[[str], str], rank: Callable[[str], int]) -> None:
        self._place_of = place_of
        self._rank = rank
        self._has_units = False

    def pytest_collection(self, session: pytest.Session) -> bool:
        session.perform_collect(genitems=False)
        return True

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(
        self, session: pytest.Session, items: list[pytest.Item]
    ) -> Iterator[None]:
        if self._has_units:
            return (yield)
        self._has_units = True
        outcome, items[:] = list(items), []
        yield
        session.items = self._units(session, outcome)
        return None

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(
        self, item: pytest.Item, nextitem: pytest.Item | None
    ) -> bool | None:
        if not isinstance(item, Unit):
            return None
        item.session.stash[_AT_WORK] = tests = item.collected()
        item.items = []  # each holds its module, and what it was given
        for place, item.running in enumerate(tests):
            following = tests[place + 1] if place + 1 < len(tests) else nextitem
            item.config.hook.pytest_runtest_protocol(item=item.running, nextitem=following)
            if item.session.shouldfail or item.session.shouldstop:
                break
        item.running = None
        return True

    def _units(self, session: pytest.Session, found: Iterable[Node]) -> list[pytest.Item]:
        seed = session.config.getoption("randomly_seed", 0)
        places: dict[str, list[Node]] = {}
        for node in _files(found):
            places.setdefault(self._place_of(node.nodeid), []).append(node)
        order = sorted(places, key=lambda place: (self._rank(place), _shuffled(seed, place)))
        return [Unit.of(session, place, places[place]) for place in order]


def _files(nodes: Iterable[Node]) -> Iterator[Node]:
    for node in nodes:
        if not isinstance(node, pytest.Directory):
            yield node
            continue
        report = collect_one_node(node)
        node.ihook.pytest_collectreport(report=report)
        yield from _files(report.result or ())


def _shuffled(seed: int, place: str) -> int:
    return zlib.crc32(f"{seed}::{place}".encode())
