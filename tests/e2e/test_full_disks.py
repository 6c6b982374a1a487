"""A disk that fills up under a serving installation costs no request, and is over with room."""

from collections.abc import Iterator

import pytest

from benchmarks.recovery_parts.disks import FOLDERS, cost_of_full_disk, serving_from_small_disks
from benchmarks.recovery_parts.serving import Serving

pytestmark = [pytest.mark.recovery, pytest.mark.e2e, pytest.mark.long]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    with serving_from_small_disks(tmp_path_factory.mktemp("up"), each_second=30) as running:
        yield running


@pytest.mark.parametrize("name", FOLDERS)
def test_nothing_that_serves_ends_and_nothing_is_miscounted(served: Serving, name: str) -> None:
    cost = cost_of_full_disk(served, name, seconds=10)
    assert cost.asked > 0
    assert (cost.lost, cost.doubled, cost.usage_difference) == (0, 0, 0), cost
    assert (cost.engines_replaced, cost.orphans, cost.leases_left) == (0, 0, 0), cost
