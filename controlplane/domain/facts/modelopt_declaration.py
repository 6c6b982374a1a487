"""The words of ModelOpt's `hf_quant_config.json`, beyond which nobody knows what they change."""

from collections.abc import Collection, Iterator, Mapping
from itertools import chain
from typing import Any

NEWEST_READ = "0.47"
"""The newest ModelOpt whose words were looked through; no version so far has taken one back."""

MIXED_PRECISION = "MIXED_PRECISION"
"""`quant_algo` of an export whose layers have numbers of their own, by `quantized_layers`."""
_SHOWN_LETTERS = 60
_FILE = frozenset({"producer", "quantization"})
_PRODUCER = frozenset({"name", "version"})
_LAYER = frozenset({
    "group_size", "has_zero_point", "lora_rank", "pre_quant_scale", "quant_algo",
})  # fmt: skip
_WHOLE = _LAYER | {"exclude_modules", "kv_cache_quant_algo", "quantized_layers"}
_FLAT = _WHOLE | {"config_groups", "ignore", "kv_cache_scheme", "producer", "quant_method"}
"""Of the form that config.json has, in which newer versions write this file as well."""
_ALGORITHMS = frozenset({
    "FP8", "FP8_BLOCK_SCALES", "FP8_PB_REAL", "FP8_PB_WO", "FP8_PER_CHANNEL_PER_TOKEN", "INT8",
    "MIXED_PRECISION", "MXFP4", "MXFP8", "NO_QUANT", "NVFP4", "NVFP4_AWQ", "NVFP4_SVD",
    "NVFP4_SVDQUANT", "W4A16", "W4A16_AWQ", "W4A16_GPTQ", "W4A16_MXFP4", "W4A16_NVFP4",
    "W4A8_AWQ", "W4A8_MXFP4_FP8", "W4A8_MXFP4_MXFP8", "W4A8_NVFP4_FP8", "W4A8_QSERVE_PER_CHANNEL",
    "W4A8_QSERVE_PER_GROUP", "W8A16", "W8A16_GPTQ", "W8A8_SQ_PER_CHANNEL",
    "W8A8_SQ_PER_CHANNEL_PER_TENSOR_PLUGIN", "W8A8_SQ_PER_CHANNEL_PER_TOKEN_PLUGIN",
    "W8A8_SQ_PER_TENSOR_PER_TOKEN_PLUGIN", "W8A8_SQ_PER_TENSOR_PLUGIN",
})  # fmt: skip
"""ModelOpt 0.47, `process_layer_quant_config`, and TensorRT-LLM 1.2, `QuantAlgo`."""
_CACHES = frozenset({"FP8", "INT8", "NO_QUANT", "NVFP4", "NVFP4_AFFINE"})
_VALUES: Mapping[str, Collection[str]] = {
    "quant_algo": _ALGORITHMS, "kv_cache_quant_algo": _CACHES,
}  # fmt: skip


def unknown_word(declared: Mapping[str, Any]) -> str | None:
    """Return the first setting that no ModelOpt writes, by its dotted name, or None.

    With its value where the name is known and the value is not.
    """
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


def _odd(block: Mapping[str, Any], known: Collection[str], prefix: str = "") -> Iterator[str]:
    for name, value in block.items():
        if name not in known:
            yield f"{prefix}{name}"
        elif not _is_known(value, _VALUES.get(name)):
            yield f"{prefix}{name}: {str(value)[:_SHOWN_LETTERS]}"


def _is_known(value: Any, values: Collection[str] | None) -> bool:
    return values is None or value is None or str(value).upper() in values


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
