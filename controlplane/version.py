import tomllib
from functools import cache
from pathlib import Path

_PROJECT = Path(__file__).resolve().parent.parent / "pyproject.toml"


@cache
def product_version() -> str:
    with _PROJECT.open("rb") as file:
        return str(tomllib.load(file)["project"]["version"])
