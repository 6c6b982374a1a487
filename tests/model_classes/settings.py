"""Settings by their dotted names, without the libraries that a class is made with."""

from collections.abc import Iterable, Mapping
from copy import deepcopy
from typing import Any


def changed(config: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the config with these dotted settings."""
    outcome = deepcopy(dict(config))
    for name, value in changes.items():
        *path, last = name.split(".")
        inner = outcome
        for part in path:
            inner = inner.setdefault(part, {})
        inner[last] = value
    return outcome


def config_of(case: Mapping[str, Any], cases: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the config.json of a recorded class, which another case may hold for it."""
    config = case["config"]
    if not isinstance(config, dict):
        holders = (each for each in cases if f"{each['class']} of {each['model_type']}" == config)
        config = next(holders)["config"]
    return {**config, "architectures": [case["class"]]}
