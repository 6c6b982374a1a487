"""Whether what the exported files say of themselves is what they hold."""

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from torch import nn

from controlplane.domain.facts.modelopt_declaration import MIXED_PRECISION
from controlplane.domain.failures.registry import gate
from workers.build_steps.failures import StepFailure
from workers.build_steps.gating import failures
from workers.build_steps.quantization.exported import Exported, headers, packed_modules
from workers.engine.errors import CheckpointRefused
from workers.engine.rounding import NVFP4_BLOCK
from workers.engine.scheme import Scheme
from workers.engine.scheme_reader import read_scheme

_STORED_AS = {"FP8": "F8_E4M3", "NVFP4": "U8"}
_PACKED = "I32"
_FP8 = {"dynamic": False, "num_bits": 8, "type": "float"}
_NUMBERS: Mapping[str, Mapping[str, Any]] = {
    "FP8": _FP8,
    "NVFP4": {"dynamic": False, "num_bits": 4, "type": "float", "group_size": NVFP4_BLOCK},
}
"""What ModelOpt's words for the types are in config.json."""
_BLOCK = frozenset({
    "config_groups", "ignore", "kv_cache_scheme", "producer", "quant_algo", "quant_method",
})  # fmt: skip
_CACHE_ALGORITHM = "FP8"
_EXPORT = "hf_quant_config.json"
_CONFIG = "config.json"


def check_declaration(folder: Path, export: Exported, calibrated: Mapping[str, Any]) -> None:
    """Raise StepFailure for the first word of the two declarations that the files deny."""
    declared = export.quant_config
    algorithm = declared.get("quant_algo")
    _same(_EXPORT, "quant_algo", algorithm, calibrated["quant_algo"])
    _check_dtypes(folder, declared)
    if algorithm == "NVFP4":
        _same(_EXPORT, "group_size", declared.get("group_size"), NVFP4_BLOCK)
    if algorithm == MIXED_PRECISION:
        _check_mixture(folder, declared)
    cache = _CACHE_ALGORITHM if calibrated.get("kv_cache_layers") else None
    _same(_EXPORT, "kv_cache_quant_algo", declared.get("kv_cache_quant_algo"), cache)
    _check_config(folder, declared)
    _check_excluded(folder, export)


def check_layers(model: nn.Module, folder: Path, named: Callable[[str], str]) -> None:
    """Raise StepFailure for the first layer in 16 bits that the declaration does not name.

    `named` gives the class's name of a module that older files call otherwise.
    """
    scheme = read_declared(folder)
    weights = [*_weights(folder), *_packed(folder)]
    stored = {named(module): module for module, _ in weights}
    quantized = {module for module, dtype in weights if dtype in (*_STORED_AS.values(), _PACKED)}
    tables = {id(each.weight) for each in model.modules() if isinstance(each, nn.Embedding)}
    for name, layer in model.named_modules():
        if not isinstance(layer, nn.Linear) or id(layer.weight) in tables:
            continue
        module = stored.get(name, name)
        if module not in quantized and not scheme.excludes(module):
            raise StepFailure.of(gate.NOT_DECLARED, module=module)


def _check_dtypes(folder: Path, declared: Mapping[str, Any]) -> None:
    layers = declared.get("quantized_layers") or {}
    for module, dtype in _weights(folder):
        named = layers.get(module) or ({} if layers else declared)
        algorithm = str(named.get("quant_algo"))
        if dtype in _STORED_AS.values() and dtype != _STORED_AS.get(algorithm):
            raise failures.declared_otherwise(
                _EXPORT, "quant_algo", algorithm, f"`{module}.weight` is stored as {dtype}"
            )


def _check_mixture(folder: Path, declared: Mapping[str, Any]) -> None:
    """Raise StepFailure for a layer that is named and not quantized, or named otherwise."""
    stored = dict(_weights(folder))
    layers = declared.get("quantized_layers") or {}
    for module, layer in layers.items():
        if stored.get(module) != _STORED_AS.get(str(layer.get("quant_algo"))):
            raise failures.declared_otherwise(
                _EXPORT, f"quantized_layers.{module}", layer,
                f"`{module}.weight` is stored as {stored.get(module)}",
            )  # fmt: skip
        if "group_size" in layer:
            name = f"quantized_layers.{module}.group_size"
            _same(_EXPORT, name, layer["group_size"], NVFP4_BLOCK)
    block = json.loads((folder / _CONFIG).read_bytes())["quantization_config"]
    _same(_CONFIG, "quantization_config.quantized_layers", block.get("quantized_layers"), layers)


def _check_config(folder: Path, declared: Mapping[str, Any]) -> None:
    """Engines read the one file or the other, so that both must say the same."""
    block = json.loads((folder / _CONFIG).read_bytes()).get("quantization_config")
    if not isinstance(block, dict):
        raise failures.declared_otherwise(
            _CONFIG, "quantization_config", block, "the weights are quantized"
        )
    _same(_CONFIG, "quantization_config.quant_method", block.get("quant_method"), "modelopt")
    for name, other in (("quant_algo", "quant_algo"), ("ignore", "exclude_modules")):
        _same(_CONFIG, f"quantization_config.{name}", block.get(name), declared.get(other))
    _check_groups(block, declared)
    has_cache = bool(block.get("kv_cache_scheme"))
    if has_cache:
        _same(_CONFIG, "quantization_config.kv_cache_scheme", block["kv_cache_scheme"], _FP8)
    if has_cache != bool(declared.get("kv_cache_quant_algo")):
        cache = declared.get("kv_cache_quant_algo")
        name = "quantization_config.kv_cache_scheme"
        raise failures.declared_otherwise(
            _CONFIG, name, block.get("kv_cache_scheme"),
            f"{_EXPORT} has `kv_cache_quant_algo` {json.dumps(cache)}",
        )  # fmt: skip


def _check_groups(block: Mapping[str, Any], declared: Mapping[str, Any]) -> None:
    """Engines that know no ModelOpt read the numbers of weights and inputs here."""
    layers = declared.get("quantized_layers") or {}
    targets: dict[str, list[str]] = {} if layers else {str(declared.get("quant_algo")): ["Linear"]}
    for module, layer in layers.items():
        targets.setdefault(str(layer.get("quant_algo")), []).append(module)
    expected = [_group(algorithm, sorted(names)) for algorithm, names in targets.items()]
    config_groups = block.get("config_groups") or {}
    if not (
        isinstance(config_groups, Mapping)
        and _unordered(config_groups.values()) == _unordered(expected)
    ):
        groups = {f"group_{place}": each for place, each in enumerate(expected)}
        _same(_CONFIG, "quantization_config.config_groups", config_groups, groups)
    known = _BLOCK | ({"quantized_layers"} if layers else set())
    if unknown := sorted(block.keys() - known):
        _same(_CONFIG, f"quantization_config.{unknown[0]}", block[unknown[0]], None)


def _group(algorithm: str, targets: list[str]) -> dict[str, Any]:
    numbers = _NUMBERS.get(algorithm)
    return {"input_activations": numbers, "weights": numbers, "targets": targets}


def _unordered(groups: Iterable[Any]) -> list[str]:
    return sorted(json.dumps(each, sort_keys=True) for each in groups)


def _check_excluded(folder: Path, export: Exported) -> None:
    scheme = read_declared(folder)
    for module, dtype in _weights(folder):
        if dtype in _STORED_AS.values() and scheme.excludes(module):
            raise failures.declared_otherwise(
                _EXPORT, "exclude_modules", export.quant_config.get("exclude_modules"),
                f"`{module}` is quantized",
            )  # fmt: skip


def read_declared(folder: Path) -> Scheme:
    try:
        scheme = read_scheme(folder, json.loads((folder / _CONFIG).read_bytes()))
    except CheckpointRefused as error:
        raise failures.not_readable(str(error)) from error
    if scheme is None:
        raise failures.not_readable(f"{_EXPORT} declares nothing")
    return scheme


def _weights(folder: Path) -> list[tuple[str, str]]:
    return [
        (name.removesuffix(".weight"), dtype)
        for name, dtype, _ in headers(folder)
        if name.endswith(".weight")
    ]


def _packed(folder: Path) -> list[tuple[str, str]]:
    return [(module, _PACKED) for module in packed_modules(folder)]


def _same(file: str, name: str, actual: object, expected: object) -> None:
    if actual != expected:
        made_with = f"the files were made with {json.dumps(expected)}"
        raise failures.declared_otherwise(file, name, actual, made_with)
