"""Whether what a runtime reads beside the tensors is the original's: config, tokenizer, index."""

import filecmp
import json
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from safetensors import safe_open

from controlplane.domain.failures.registry import gate
from controlplane.domain.json_text import read_json
from workers.build_steps.failures import StepFailure
from workers.build_steps.gating import failures
from workers.build_steps.quantization.checkpoint import Checkpoint
from workers.build_steps.quantization.descriptions import (
    CONFIG,
    INDEX,
    config_of_export,
    kept_files,
)

_ABSENT = object()


def check_descriptions(original: Checkpoint, exported: Path) -> None:
    """Raise StepFailure for the first word that is not the original's and need not differ.

    The gate measures with the original's settings; a runtime reads those of the export.
    """
    _check_config(original, exported)
    _check_files(original.folder, exported)
    _check_index(exported)


def _check_config(original: Checkpoint, exported: Path) -> None:
    config = _read(exported / CONFIG)
    if not isinstance(config, dict):
        raise failures.not_readable(f"{CONFIG} is not a JSON object")
    expected = config_of_export(original, config.get("quantization_config"))
    if difference := _first_difference(config, expected):
        name, ours, theirs = difference
        raise failures.described_otherwise(CONFIG, name, _value_words(ours), _value_words(theirs))


def _first_difference(actual: Any, expected: Any, name: str = "") -> tuple[str, Any, Any] | None:
    if isinstance(actual, dict) and isinstance(expected, dict):
        for key in sorted(actual.keys() | expected.keys()):
            below = f"{name}.{key}" if name else key
            pair = (actual.get(key, _ABSENT), expected.get(key, _ABSENT))
            if difference := _first_difference(*pair, below):
                return difference
        return None
    return None if _value_words(actual) == _value_words(expected) else (name, actual, expected)


def _value_words(value: object) -> str:
    # Compared as text: to Python `true` is 1, and NaN is not NaN.
    return "absent" if value is _ABSENT else json.dumps(value, sort_keys=True)


def _check_files(original: Path, exported: Path) -> None:
    theirs, ours = set(kept_files(original)), set(kept_files(exported))
    for path in sorted(theirs | ours):
        if reason := _difference(path, original, exported, is_ours=path in ours):
            raise StepFailure.of(gate.OTHER_FILE, file=path.as_posix(), reason=reason)


def _difference(path: Path, original: Path, exported: Path, *, is_ours: bool) -> str | None:
    if not is_ours:
        return "is missing"
    if not (original / path).is_file():
        return "is not among the original's files"
    is_same = filecmp.cmp(original / path, exported / path, shallow=False)
    return None if is_same else "is not as the original has it"


def _check_index(exported: Path) -> None:
    """Engines read the tensors that the index names, out of the files that it names."""
    names_by_file = _names_by_file(exported)
    if not (exported / INDEX).exists():
        if len(names_by_file) > 1:
            raise StepFailure.of(
                gate.OTHER_FILE,
                file=INDEX,
                reason=f"is missing beside {len(names_by_file)} files of weights",
            )
        return
    named = _named(_read(exported / INDEX))
    for file in sorted(names_by_file.keys() | named.keys()):
        if odd := sorted(names_by_file.get(file, set()) ^ named.get(file, set())):
            raise StepFailure.of(
                gate.OTHER_FILE, file=INDEX, reason=f"and `{file}` do not agree about `{odd[0]}`"
            )


def _names_by_file(folder: Path) -> dict[str, set[str]]:
    names_by_file: dict[str, set[str]] = {}
    for path in folder.glob("*.safetensors"):
        with safe_open(path, "pt") as file:
            names_by_file[path.name] = set(file.keys())
    return names_by_file


def _named(index: Any) -> Mapping[str, set[str]]:
    places = index.get("weight_map") if isinstance(index, dict) else None
    if not isinstance(places, dict):
        raise failures.not_readable(f"{INDEX} has no `weight_map`")
    names_by_file: dict[str, set[str]] = defaultdict(set)
    for tensor, file in places.items():
        names_by_file[str(file)].add(tensor)
    return names_by_file


def _read(path: Path) -> Any:
    try:
        return read_json(path.read_bytes())
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from error


def _unreadable(path: Path, error: Exception) -> StepFailure:
    return failures.not_readable(f"{path.name} cannot be read ({error})")
