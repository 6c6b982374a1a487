"""What `calib_dataset` can name: a hub data set, a local file, a set kept here, our own."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType

from controlplane.domain.facts.calibration_sets import is_team_form
from controlplane.domain.failures.registry import calibration
from workers.build_steps.calibration import failures
from workers.build_steps.failures import StepFailure

GENERAL = "enginehouse/general"
"""The set that ships with Enginehouse, for machines without a hub."""
_GENERAL_FILE = Path(__file__).with_name("general.jsonl")
_HUB = re.compile(
    r"(?P<repo>[\w.-]+(/[\w.-]+)?)(:(?P<config>[\w.+-]+))?(@(?P<revision>[\w./+-]+))?"
)


class Kind(StrEnum):
    HUB = "hub"
    FILE = "file"


@dataclass(frozen=True, kw_only=True)
class Dataset:
    name: str
    """As the config has it."""
    kind: Kind
    path: Path | None = None
    """The file or folder, of a FILE."""
    repo: str = ""
    config: str | None = None
    revision: str | None = None
    column: str | None = None
    """The column to read where it is known beforehand."""


@dataclass(frozen=True, kw_only=True)
class _Known:
    repo: str
    config: str
    column: str


_CNN = _Known(repo="abisee/cnn_dailymail", config="3.0.0", column="article")
# ModelOpt's registered names whose meaning is a data set with a config and a column of its own.
_KNOWN: Mapping[str, _Known] = MappingProxyType(
    {
        "abisee/cnn_dailymail": _CNN,
        "cnn_dailymail": _CNN,
        "Salesforce/wikitext": _Known(
            repo="Salesforce/wikitext", config="wikitext-103-v1", column="text"
        ),
    }
)


def find_dataset(name: str, *, roots: tuple[str, ...], kept: Mapping[str, str]) -> Dataset:
    """Return what a name means; raises StepFailure for one that means nothing.

    `kept` maps the team's own sets, `team/NAME` or `team/NAME@VERSION`, to their files. A hub data
    set may carry its config and revision: `org/name:config@revision`.
    """
    if name in kept:
        return Dataset(name=name, kind=Kind.FILE, path=_existing(Path(kept[name]), name))
    if is_team_form(name):
        raise StepFailure.of(calibration.NO_SET, name=name)
    if name == GENERAL:
        return Dataset(name=name, kind=Kind.FILE, path=_GENERAL_FILE, column="text")
    if name.startswith(("/", "./", "../")) or Path(name).suffix in (".jsonl", ".parquet"):
        return Dataset(name=name, kind=Kind.FILE, path=_inside(name, roots))
    match = _HUB.fullmatch(name)
    if match is None:
        raise StepFailure.of(calibration.NAME, name=name)
    known = _KNOWN.get(match["repo"])
    return Dataset(
        name=name,
        kind=Kind.HUB,
        repo=known.repo if known else match["repo"],
        config=match["config"] or (known.config if known else None),
        revision=match["revision"],
        column=known.column if known else None,
    )


def _inside(name: str, roots: tuple[str, ...]) -> Path:
    path = Path(name)
    if not path.is_absolute():
        candidates = [Path(root) / path for root in roots]
        path = next((each for each in candidates if each.exists()), path)
    resolved = path.resolve()
    if not any(resolved.is_relative_to(Path(root).resolve()) for root in roots):
        raise failures.outside_roots(name, roots)
    return _existing(resolved, name)


def _existing(path: Path, name: str) -> Path:
    if not path.exists():
        raise StepFailure.of(calibration.MISSING, name=name)
    return path
