"""`constraints.txt` pins what `make` installs, in versions that pyproject.toml allows."""

import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
INSTALLED = ("engine", "demo", "dev")
"""The extras that make's targets install."""


def pins() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    named = [line.split("==") for line in lines if not line.startswith("#")]
    return {canonicalize_name(name): version for name, version in named}


def test_every_requirement_has_a_pin_that_it_allows() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    texts = [*project["dependencies"], *(text for name in INSTALLED for text in extras[name])]
    for requirement in map(Requirement, texts):
        version = pins().get(canonicalize_name(requirement.name))
        assert version is not None, requirement
        assert requirement.specifier.contains(version), (requirement, version)
