"""Sets of calibration data that a team keeps: how a config names one, what checks know of it."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from difflib import get_close_matches
from typing import Any, Self

from controlplane.domain.spec import Spec

PREFIX = "team/"
"""Opens the name of a team's own set where a hub's has its owner."""
FEWEST_ROWS = 8
"""Usable samples that a build needs: some to calibrate on, others to measure on."""
NAME_RULE = (
    "1 to 64 letters, digits, `-`, `_` and `.`, a letter or digit first and no file ending last"
)
_ENDINGS = (".jsonl", ".json", ".parquet", ".txt")
_NAME = r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}"
_REFERENCE = re.compile(rf"{PREFIX}(?P<name>{_NAME})(@(?P<version>[1-9][0-9]{{0,8}}))?")


@dataclass(frozen=True, kw_only=True)
class SetReference:
    """What `team/NAME` or `team/NAME@VERSION` names."""

    name: str
    version: int | None = None
    """The last one when absent."""


@dataclass(frozen=True, kw_only=True)
class SetVersion:
    """One state of a set; None where nobody has looked."""

    number: int
    column: str | None = None
    rows: int | None = None


@dataclass(frozen=True, kw_only=True)
class CalibrationSet:
    """A set with the versions that can still be read, the last one last."""

    name: str
    versions: tuple[SetVersion, ...]

    def version(self, number: int | None) -> SetVersion | None:
        if number is None:
            return self.versions[-1]
        return next((each for each in self.versions if each.number == number), None)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        return cls(
            name=stored["name"],
            versions=tuple(SetVersion(**each) for each in stored["versions"]),
        )


def is_set_name(name: str) -> bool:
    return bool(re.fullmatch(_NAME, name)) and not name.lower().endswith(_ENDINGS)


def is_team_form(dataset: str) -> bool:
    """Return whether a config means a team's set, rightly written or not."""
    return dataset.startswith(PREFIX)


def reference_of(dataset: str) -> SetReference | None:
    """Return which set is named; None for other data and for what cannot be a set's name."""
    match = _REFERENCE.fullmatch(dataset)
    if match is None or not is_set_name(match["name"]):
        return None
    version = match["version"]
    return SetReference(name=match["name"], version=int(version) if version else None)


def may_name_sets(spec: Spec) -> bool:
    """Return whether a spec has to be compared with what the team keeps.

    A bare name is an old name of the hub, unless the team has a set that is called so.
    """
    return any(is_team_form(each) or "/" not in each for each in data_sets(spec))


def references_of(spec: Spec) -> dict[str, SetReference]:
    references = {each: reference_of(each) for each in data_sets(spec)}
    return {dataset: reference for dataset, reference in references.items() if reference}


def named_sets(spec: Spec) -> tuple[CalibrationSet, ...]:
    """Return the sets that a spec names as if they were there, for who has no team to ask."""
    versions: dict[str, set[int]] = {}
    for each in references_of(spec).values():
        versions.setdefault(each.name, set()).add(each.version or 1)
    return tuple(
        CalibrationSet(
            name=name, versions=tuple(SetVersion(number=number) for number in sorted(numbers))
        )
        for name, numbers in versions.items()
    )


def nearest(name: str, sets: Iterable[str]) -> str | None:
    known = list(sets)
    by_folded = {each.casefold(): each for each in known}
    close = get_close_matches(name.casefold(), by_folded, n=1, cutoff=0.6)
    return by_folded[close[0]] if close else None


def data_sets(spec: Spec) -> tuple[str, ...]:
    """Return the data sets that a spec names: to calibrate on, and to measure on."""
    gate = spec.settings.gate
    calibration = spec.engine_build.quantization_config.calib_dataset
    tasks = (each.dataset for each in gate.tasks.values())
    return (calibration, *(each for each in (gate.evaluation_dataset, *tasks) if each))
