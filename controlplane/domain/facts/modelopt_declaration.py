"""The words of ModelOpt's `hf_quant_config.json`, beyond which nobody knows what they change."""

from collections.abc import Collection, Iterator, Mapping
from itertools import chain
from typing import Any

NEWEST_READ = "0.47"
"""The newest ModelOpt whose words were looked through; no version so far has taken one back."""

_FILE = frozenset({"producer", "quantization"})
_PRODUCER = frozenset({"name", "version"})
_LAYER = frozenset({
    "group_size", "has_zero_point", "lora_rank", "pre_quant_scale", "quant_algo",
})  # fmt: skip
_WHOLE = _LAYER | {"exclude_modules", "kv_cache_quant_algo", "quantized_layers"}
_FLAT = _WHOLE | {"config_groups", "ignore", "kv_cache_scheme", "producer", "quant_method"}
"""Of the form that config.json has, in which newer versions write this file as well."""


def unknown_word(declared: Mapping[str, Any]) -> str | None:
    """Return the dotted name of the first setting that no ModelOpt writes, or None."""
    return next(_unknown(declared), None)


def is_flat(declared: Mapping[str, Any]) -> bool:
    """Return whether a file has the form that config.json has."""
    return "quantization" not in declared and "quant_method" in declared


def _unknown(declared: Mapping[str, Any]) -> Iterator[str]:
    flat = is_flat(declared)
    whole = declared if flat else _object(declared.get("quantization"))
    prefix = "" if flat else "quantization."
    yield from chain(
        () if flat else _odd(declared, _FILE),
        _odd(_object(declared.get("producer")), _PRODUCER, "producer."),
        _odd(whole, _FLAT if flat else _WHOLE, prefix),
    )
    for layer, each in _object(whole.get("quantized_layers")).items():
        yield from _odd(_object(each), _LAYER, f"{prefix}quantized_layers.{layer}.")


def _odd(found: Mapping[str, Any], known: Collection[str], prefix: str = "") -> Iterator[str]:
    return (f"{prefix}{name}" for name in found if name not in known)


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
