"""Why a build is not one that was built before: its inputs beside earlier ones, by name."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

_ABSENT = "not set"
_NAMES = {
    "commit": "checkpoint commit",
    "calibration": "calibration data",
    "evaluation": "evaluation data",
    "tasks": "questions of the gate's tasks",
}


@dataclass(frozen=True, kw_only=True)
class Difference:
    path: str
    """Dotted, as in the stored document: `tool_versions.torch`, `spec.trt_llm.build.base_model`."""
    label: str
    before: Any
    now: Any

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> tuple[Difference, ...]:
    old, new = dict(leaves(before)), dict(leaves(now))
    return tuple(
        Difference(
            path=path,
            label=_label(path),
            before=old.get(path, _ABSENT),
            now=new.get(path, _ABSENT),
        )
        for path in sorted(old.keys() | new.keys())
        if old.get(path, _ABSENT) != new.get(path, _ABSENT)
    )


def leaves(document: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the dotted path and the value of everything that is no mapping; lists stay whole."""
    for key, value in document.items():
        path = f"{prefix}{key}"
        if isinstance(value, Mapping) and value:
            yield from leaves(value, f"{path}.")
        else:
            yield path, value


def _label(path: str) -> str:
    """Return the input's name as people say it: `torch version`, or the config's own field."""
    head, _, rest = path.partition(".")
    if head == "spec":
        return rest
    if head == "tool_versions":
        return f"{rest} version"
    name = _NAMES.get(head, head)
    return f"{name}: {rest}" if rest else name
