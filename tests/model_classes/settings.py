"""Settings by their dotted names, without the libraries that a class is made with."""

from collections.abc import Mapping
from copy import deepcopy
from typing import Any


def changed(config: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the config with these dotted settings."""
    found = deepcopy(dict(config))
    for name, value in changes.items():
        *path, last = name.split(".")
        inner = found
        for part in path:
            inner = inner.setdefault(part, {})
        inner[last] = value
    return found
