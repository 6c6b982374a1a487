"""A runtime's table in one version holds every cell, the owned kinds first."""

import pytest

from controlplane.domain.facts.gpus import CPU, GPUS
from controlplane.domain.runtimes import RUNTIMES
from controlplane.domain.runtimes.capability import Feature, Support
from controlplane.domain.runtimes.tables import table_of
from controlplane.domain.runtimes.together import EVERY_PAIR, together

EVERY_VERSION = [
    (name, version) for name, each in RUNTIMES.items() for version in each.capabilities.VERSIONS
]


@pytest.mark.parametrize(("name", "version"), EVERY_VERSION)
def test_every_cell_is_what_the_checks_read(name: str, version: str) -> None:
    runtime = RUNTIMES[name]
    table = table_of(runtime, version, owned=["L4", "H100"])
    shown = {
        (row.feature, kind): cell.capability
        for row in table.rows
        for cell in row.cells
        for kind in cell.column.kinds
    }
    kinds = [kind for kind in GPUS if kind != CPU or not runtime.needs_gpu]
    assert shown == {
        (feature, kind): runtime.capabilities.capability(feature, kind, version)
        for feature in Feature
        for kind in kinds
    }


@pytest.mark.parametrize(("name", "version"), EVERY_VERSION)
def test_a_pair_that_is_less_than_its_features_is_named(name: str, version: str) -> None:
    runtime = RUNTIMES[name]
    named = {frozenset(pair.features) for pair in table_of(runtime, version).pairs}
    order = [Support.REFUSED, Support.UNTESTED, Support.EMULATED, Support.NATIVE]
    for one, other in EVERY_PAIR:
        alone = [runtime.capabilities.capability(each, "H100", version) for each in (one, other)]
        weaker = min((each.support for each in alone), key=order.index)
        outcome = together(runtime, one, other, "H100", version).support
        assert outcome is weaker or {one, other} in named


def test_owned_kinds_come_first_and_apart_from_others_that_are_alike() -> None:
    table = table_of(RUNTIMES["vllm"], "0.25", owned=["H200", "L4"])
    owned = [each.is_owned for each in table.columns]
    assert owned == sorted(owned, reverse=True)
    assert {kind for each in table.columns if each.is_owned for kind in each.kinds} == {
        "H200", "L4",
    }  # fmt: skip
    assert any("H100" in each.kinds for each in table.columns if not each.is_owned)


def test_owned_kinds_alone_are_every_kind_where_none_is_owned() -> None:
    def kinds(owned: list[str]) -> set[str]:
        table = table_of(RUNTIMES["vllm"], "0.25", owned=owned, only_owned=True)
        return {kind for each in table.columns for kind in each.kinds}

    assert kinds(["T4"]) == {"T4"}
    assert kinds([]) == set(GPUS) - {CPU}


def test_kinds_that_a_runtime_takes_for_nothing_are_named_once() -> None:
    table = table_of(RUNTIMES["vllm"], "0.25")
    naming = [
        row.feature
        for row in table.rows_of_taken
        if any("V100" in cell.column.kinds for cell in row.cells)
    ]
    assert naming == [Feature.ACCELERATOR]
    assert "V100" not in (*table.taken.owned, *table.taken.others)
    only_v100 = table_of(RUNTIMES["vllm"], "0.25", owned=["V100"], only_owned=True)
    assert {each.feature for each in only_v100.rows_of_taken if each.cells} == set(Feature)
    assert only_v100.taken.owned == ("V100",)


def test_a_way_is_told_once_with_its_kinds_and_its_source() -> None:
    row = next(
        each
        for each in table_of(RUNTIMES["vllm"], "0.25").rows_of_taken
        if each.feature is Feature.FP8_WEIGHTS
    )
    assert len({way.capability.how for way in row.ways}) == len(row.ways) == 2
    assert sorted(kind for way in row.ways for kind in way.kinds) == sorted(
        kind for cell in row.cells for kind in cell.column.kinds
    )
    assert row.ways[-1].says_source
    assert [each.support for each in row.kinds] == [
        Support.NATIVE, Support.UNTESTED, Support.REFUSED,
    ]  # fmt: skip
