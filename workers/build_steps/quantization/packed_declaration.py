"""What config.json says of packed integers, in the words of compressed-tensors."""

from collections.abc import Iterable, Mapping
from typing import Any

from controlplane.domain.facts.quantization import INT4_AWQ, INT4_AWQ_FP8
from workers.engine.packed_integers import BITS
from workers.engine.scheme import COMPRESSED, PACKED

_FP8_INPUTS: Mapping[str, Any] = {
    "num_bits": 8, "type": "float", "symmetric": True, "strategy": "token", "dynamic": True,
}  # fmt: skip
_INPUTS: Mapping[str, Mapping[str, Any] | None] = {
    str(INT4_AWQ.modelopt_name): None,
    str(INT4_AWQ_FP8.modelopt_name): _FP8_INPUTS,
}
"""What each type does to inputs, by the name that results have for it."""


def declaration(algorithm: str, group: int, left: Iterable[str]) -> dict[str, Any]:
    """Return `quantization_config` of config.json, with the layers that stay in 16 bits."""
    return {
        "quant_method": COMPRESSED,
        "format": PACKED,
        "quantization_status": "compressed",
        "config_groups": {
            "group_0": {
                "targets": ["Linear"],
                "weights": {
                    "num_bits": BITS,
                    "type": "int",
                    "symmetric": True,
                    "strategy": "group",
                    "group_size": group,
                    "dynamic": False,
                },
                "input_activations": _INPUTS[algorithm],
            }
        },
        "ignore": list(left),
        "kv_cache_scheme": None,
    }


def algorithm_of(block: Mapping[str, Any]) -> str | None:
    """Return the name that results have for a declaration; None for what is none of ours."""
    group = (block.get("config_groups") or {}).get("group_0") or {}
    inputs = group.get("input_activations")
    return next((name for name, each in _INPUTS.items() if each == inputs), None)
