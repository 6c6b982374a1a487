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
_LAYERS = "quantization.quantized_layers"


def unknown_word(declared: Mapping[str, Any]) -> str | None:
    """Return the dotted name of the first setting that no ModelOpt writes, or None."""
    return next(_unknown(declared), None)


def _unknown(declared: Mapping[str, Any]) -> Iterator[str]:
    whole = _object(declared.get("quantization"))
    yield from chain(
        _odd(declared, _FILE),
        _odd(_object(declared.get("producer")), _PRODUCER, "producer."),
        _odd(whole, _WHOLE, "quantization."),
    )
    for layer, each in _object(whole.get("quantized_layers")).items():
        yield from _odd(_object(each), _LAYER, f"{_LAYERS}.{layer}.")


def _odd(found: Mapping[str, Any], known: Collection[str], prefix: str = "") -> Iterator[str]:
    return (f"{prefix}{name}" for name in found if name not in known)


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
