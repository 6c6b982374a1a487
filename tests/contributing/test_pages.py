"""Pages of `contributing/`, followed one after another in one copy of the tree.

To have a copy and a run of tests for each page would be most of what they cost.
"""

from pathlib import Path

import pytest

from tests.contributing import (
    adding_a_page,
    adding_a_quantization_type,
    adding_a_rest_field,
    adding_a_rule,
    adding_a_runtime,
)
from tests.contributing.throwaway import Change, Followed, follow, not_as_listed

CHANGES = (
    *adding_a_page.CHANGES,
    *adding_a_quantization_type.CHANGES,
    *adding_a_rest_field.CHANGES,
    *adding_a_rule.CHANGES,
    *adding_a_runtime.CHANGES,
)
of_each = pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.of)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("followed")


@pytest.fixture(scope="module")
def followed(folder: Path) -> Followed:
    return follow(CHANGES, folder)


@of_each
def test_a_change_takes_the_files_of_its_page(followed: Followed, change: Change) -> None:
    assert not_as_listed(change.page, followed.changed[change.of]) == []
    if change.most_files is not None:
        assert len(followed.changed_by_hand[change.of]) <= change.most_files


def test_what_the_page_of_rules_names_proves_its_change(followed: Followed) -> None:
    ran = followed.tested(adding_a_rule.CHANGES)
    assert ran.status == 0, ran.said


@pytest.mark.long
def test_what_each_page_names_proves_its_change_and_no_other_test_fails(followed: Followed) -> None:
    ran = followed.tested(CHANGES)
    assert {each.of: failed for each in CHANGES if (failed := ran.failed(each))} == {}, ran.said
    assert ran.status == 0, ran.said


def test_a_rule_is_written_into_its_reference(followed: Followed, folder: Path) -> None:
    assert "### EH699 pointless" in (folder / "docs/rules.md").read_text()
