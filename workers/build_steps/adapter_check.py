"""Refuses, before a long build, the LoRA adapters that an engine would refuse at its start."""

import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open

from controlplane.domain.json_text import read_json
from controlplane.sources.selection import ADAPTER_FILES

_MATRIX = re.compile(r"base_model\.model\.(?P<module>.+)\.lora_(?P<part>[AB])\.weight")
_NUMBERED = re.compile(r"\.(\d+)(?=\.|$)")
_MOST_DIGITS = 9
_PLAIN = frozenset({"F64", "F32", "F16", "BF16"})
"""Kinds of numbers whose tensors have the shape of the projection itself."""

Shape = tuple[int, ...]


def check_adapter(folder: Path, model: Path, *, max_rank: int) -> None:
    """Raise ValueError with the reason why the adapter in `folder` cannot be served."""
    config = _config(folder)
    if config.get("peft_type") != "LORA":
        raise ValueError(f"`peft_type` is `{config.get('peft_type')}`; only LORA is served.")
    _check_rank("It", max(_ranks(config)), max_rank)
    pairs = _pairs(folder)
    of_model = _shapes_of_model(model, pairs)
    last = _last_layers(model)
    for module, parts in pairs.items():
        _check_layer(module, last)
        _check_pair(module, parts.get("A"), parts.get("B"), of_model.get(module))
        _check_rank(f"`{module}`", parts["A"][0], max_rank)


def _config(folder: Path) -> Mapping[str, Any]:
    name = ADAPTER_FILES[0]
    try:
        config = read_json((folder / name).read_bytes())
    except ValueError as error:
        raise ValueError(f"Its {name} is not JSON: {error}.") from error
    if not isinstance(config, dict):
        raise ValueError(f"Its {name} is a JSON {type(config).__name__}; an object is needed.")
    return config


def _ranks(config: Mapping[str, Any]) -> Iterator[int]:
    pattern = config.get("rank_pattern") or {}
    try:
        yield int(config.get("r", 8))
        yield from map(int, pattern.values())
    except (TypeError, ValueError, AttributeError) as error:
        raise ValueError(f"Its ranks (`r`, `rank_pattern`) cannot be read: {error}.") from error


def _pairs(folder: Path) -> dict[str, dict[str, Shape]]:
    """Return the shapes of A and B by module; other tensors are the engine's to judge."""
    pairs: dict[str, dict[str, Shape]] = {}
    for name, shape in _shapes(folder / ADAPTER_FILES[1]):
        if match := _MATRIX.fullmatch(name):
            pairs.setdefault(match["module"], {})[match["part"]] = shape
    if not pairs:
        raise ValueError(f"Its {ADAPTER_FILES[1]} holds no matrices of LoRA.")
    return pairs


def _check_pair(module: str, a: Shape | None, b: Shape | None, weight: Shape | None) -> None:
    if a is None or b is None:
        raise ValueError(f"`{module}` has only one of lora_A and lora_B.")
    if len(a) != 2 or len(b) != 2 or a[0] != b[1]:
        raise ValueError(f"`{module}` has matrices {[*a]} and {[*b]}, which do not fit together.")
    if weight is not None and (b[0], a[1]) != weight:
        raise ValueError(
            f"`{module}` of the model is {[*weight]} and the adapter's matrices are {[*a]} and "
            f"{[*b]}: it was trained on another model."
        )


def _check_layer(module: str, last: Mapping[str, float]) -> None:
    """Refuse what engines pass over without a word: matrices of a layer that is not there."""
    for match in _NUMBERED.finditer(module):
        place = module[: match.start()]
        if place in last and _number(match[1]) > last[place]:
            raise ValueError(
                f"`{module}` is of a layer that the model does not have; its last one is "
                f"`{place}.{last[place]}`. The adapter was trained on another model."
            )


def _last_layers(model: Path) -> dict[str, float]:
    last: dict[str, float] = {}
    for path in sorted(model.glob("*.safetensors")):
        for name in _names(path):
            for match in _NUMBERED.finditer(name):
                place = name[: match.start()]
                last[place] = max(last.get(place, 0), _number(match[1]))
    return last


def _number(digits: str) -> float:
    """Return what a name says, without end where no list is as long: Python reads 4,300 digits."""
    return int(digits) if len(digits) <= _MOST_DIGITS else math.inf


def _check_rank(what: str, rank: int, limit: int) -> None:
    if rank > limit:
        raise ValueError(
            f"{what} has rank {rank}, above `lora_configuration.max_lora_rank` {limit}."
        )


def _shapes_of_model(model: Path, modules: Mapping[str, Any]) -> dict[str, Shape]:
    module_of_weight = {f"{module}.weight": module for module in modules}
    return {
        module_of_weight[name]: shape
        for path in sorted(model.glob("*.safetensors"))
        for name, shape in _shapes(path, only=module_of_weight.keys())
    }


def _names(path: Path) -> Iterator[str]:
    try:
        with safe_open(path, framework="np") as file:
            yield from file.keys()
    except SafetensorError as error:
        raise ValueError(f"Its {path.name} cannot be read: {error}.") from error


def _shapes(path: Path, only: Any = None) -> Iterator[tuple[str, Shape]]:
    try:
        with safe_open(path, framework="np") as file:
            for name in file.keys():  # noqa: SIM118  (no mapping)
                if only is None or name in only:
                    part = file.get_slice(name)
                    if part.get_dtype() in _PLAIN:
                        yield name, tuple(part.get_shape())
    except SafetensorError as error:
        raise ValueError(f"Its {path.name} cannot be read: {error}.") from error
