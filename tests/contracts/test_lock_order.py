"""Rows are locked in the one order of `contributing/leases_and_locks.md`, by every transaction."""

import re
from functools import cache

from tests.contracts.lock_calls import ROOT, Function, functions, locks_of

PAGE = (ROOT / "contributing/leases_and_locks.md").read_text()
ORDER = {row: int(place) for place, row in re.findall(r"^\| (\d+) \| `(\w+)` \|", PAGE, re.M)}
NOT_ONE_AFTER_THE_OTHER = {
    "apps/deployments/services/deployments.py:deployment_retry": "routes are in a branch that ends",
}


def test_every_transaction_locks_in_the_order_of_the_page() -> None:
    wrong = {each.place: locks for each in _transactions() if not _is_ordered(locks := _all(each))}
    assert wrong.keys() == NOT_ONE_AFTER_THE_OTHER.keys(), wrong


def test_every_row_that_is_locked_beside_another_has_a_place() -> None:
    beside = {lock for each in _transactions() if len(locks := _all(each)) > 1 for lock in locks}
    assert beside - ORDER.keys() == set()
    assert ORDER.keys() - beside == set()


def test_what_a_compiled_query_locks_is_seen() -> None:
    (reconcile,) = _known()["deployment_reconcile"]
    assert _all(reconcile)[:2] == ["Deployment", "Replica"]


def test_every_advisory_lock_is_on_the_page() -> None:
    files = {
        str(path.relative_to(ROOT))
        for folder in ("apps", "controlplane", "workers")
        for path in (ROOT / folder).rglob("*.py")
        if re.search(r"pg_(try_)?advisory", path.read_text())
    }
    assert files == set(re.findall(r"`((?:apps|controlplane|workers)/\S+\.py)`", _advisory()))


def test_a_wrong_order_would_be_noticed() -> None:
    assert _is_ordered(["Deployment", "Node"])
    assert not _is_ordered(["Node", "Device"])


def _transactions() -> list[Function]:
    return [each for named in _known().values() for each in named if each.is_atomic]


def _all(function: Function) -> list[str]:
    """Return what a transaction locks, each at its first time."""
    return list(dict.fromkeys(locks_of(function, _known())))


@cache
def _known() -> dict[str, list[Function]]:
    # Not at import: every process of the tests imports this file, and one runs it.
    return functions()


def _is_ordered(locks: list[str]) -> bool:
    places = [ORDER[lock] for lock in locks if lock in ORDER]
    return places == sorted(places)


def _advisory() -> str:
    return PAGE.partition("## Advisory locks")[2]
