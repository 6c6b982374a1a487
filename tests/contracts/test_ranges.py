"""Both ends of what a GPU host may bring are admitted, as `make test-oldest` runs them."""

import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
WANTED = {
    "torch": (("2.11.0", "2.12.1", "2.13.0"), ("2.10.0", "2.14.0")),
    "transformers": (("5.17.0", "5.20.1", "5.24.0"), ("5.16.1", "5.25.0")),
    "huggingface_hub": (("1.33.0", "2.4.0"), ("1.32.0",)),
}
"""Package -> versions that are admitted, and versions that are not."""


def _requirements() -> Iterator[Requirement]:
    for line in (*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["engine"]):
        yield Requirement(line)


def test_both_pythons_are_admitted_and_no_other() -> None:
    python = SpecifierSet(PROJECT["requires-python"])
    admitted = [each for each in ("3.10.19", "3.11.7", "3.12.3", "3.13.1") if each in python]
    assert admitted == ["3.11.7", "3.12.3"]


@pytest.mark.parametrize("name", WANTED)
def test_the_range_of_a_package_has_both_ends(name: str) -> None:
    [specifier] = [each.specifier for each in _requirements() if each.name == name]
    admitted, refused = WANTED[name]
    assert [each for each in (*admitted, *refused) if each in specifier] == list(admitted)


def test_the_oldest_are_tested_as_the_lower_ends_of_their_ranges() -> None:
    lines = (ROOT / "constraints-oldest.txt").read_text().splitlines()
    oldest = dict(line.split("==") for line in lines if not line.startswith("#"))
    assert oldest == {name: admitted[0] for name, (admitted, _) in WANTED.items()}
