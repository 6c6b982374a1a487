import tomllib
from functools import cache
from pathlib import Path

_PROJECT = Path(__file__).resolve().parent.parent / "pyproject.toml"


@cache
def product_version() -> str:
    """Return the version that the source tree says it is."""
    with _PROJECT.open("rb") as file:
        return str(tomllib.load(file)["project"]["version"])
