"""Which setting of a config.json is at fault, told by what leaving it to its default mends."""

import json
import resource
from collections.abc import Callable, Iterator, Mapping
from typing import Any

_NEEDED = frozenset({"architectures", "model_type"})
_CPU_SECONDS = 25
"""For the search alone: less than half of what its process may take."""
_SHOWN, _LETTERS = 3, 60


def mending(config: Mapping[str, Any], works: Callable[[Mapping[str, Any]], bool]) -> str:
    """Return the settings of which each alone mends a config by its default, as a sentence begins.

    Empty where none does, or where that would take too long to find out.
    """
    mended: list[tuple[str, ...]] = []
    until = _cpu_seconds() + _CPU_SECONDS
    for path in _settings(config):
        if len(mended) == _SHOWN or _cpu_seconds() > until:
            break
        # What holds a setting that mends it would mend it as well.
        if not any(each[: len(path)] == path for each in mended) and works(_without(config, path)):
            mended.append(path)
    return f"{' or '.join(_declared(config, each) for each in mended)}: " if mended else ""


def _settings(config: Mapping[str, Any], above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the settings, what is within one before itself."""
    for name, value in config.items():
        path = (*above, name)
        if isinstance(value, dict):
            yield from _settings(value, path)
        if name not in _NEEDED:
            yield path


def _without(config: Mapping[str, Any], path: tuple[str, ...]) -> dict[str, Any]:
    name, *below = path
    left = {key: value for key, value in config.items() if key != name}
    return left | {name: _without(config[name], tuple(below))} if below else left


def _declared(config: Mapping[str, Any], path: tuple[str, ...]) -> str:
    value: Any = config
    for name in path:
        value = value[name]
    text = json.dumps(value)
    return f"`{'.'.join(path)}` is {text if len(text) <= _LETTERS else f'{text[:_LETTERS]}…'}"


def _cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime
