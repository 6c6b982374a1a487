"""Reads what a checkpoint says of its quantization; what cannot be emulated is refused."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from controlplane.domain.facts.existing_quantization import odd_integers
from controlplane.domain.facts.modelopt_declaration import (
    MIXED_PRECISION,
    NEWEST_READ,
    is_flat,
    unknown_word,
)
from controlplane.domain.json_text import read_json
from workers.engine.errors import CheckpointRefused
from workers.engine.rounding import FP8_BLOCK
from workers.engine.scheme import BLOCKS, COMPRESSED, PACKED, Inputs, Number, Scheme

QUANT_CONFIG_FILE = "hf_quant_config.json"
_OTHER_METHODS: Mapping[str, str] = {
    "gptq": "GPTQ's packed integers",
    "awq": "AWQ's packed integers",
    "bitsandbytes": "bitsandbytes' blocks",
    "gguf": "GGUF's blocks",
    "fbgemm_fp8": "FBGEMM's FP8",
    "mxfp4": "MXFP4's blocks",
}
_OF_MODELOPT = (Number.FP8, Number.NVFP4)


def read_scheme(folder: Path, config: Mapping[str, Any]) -> Scheme | None:
    """Return the scheme of a folder, None where it is not quantized.

    Raises: `CheckpointRefused` for a method that cannot be emulated, with what to do.
    """
    exported = _read_export(folder)
    if exported and not is_flat(exported):
        return _modelopt(exported["quantization"])
    block = exported or config.get("quantization_config") or {}
    method = str(block.get("quant_method") or "an unnamed method")
    match method:
        case _ if not block:
            return None
        case "modelopt":
            cache = block.get("kv_cache_scheme")
            named = {"kv_cache_quant_algo": _named(cache) if cache else None}
            return _modelopt({**block, **named, "exclude_modules": block.get("ignore")})
        case "compressed-tensors":
            return _compressed_tensors(block)
        case "fp8":
            return _fp8_blocks(block)
    raise _refused(method, _OTHER_METHODS.get(method, "that way of storing numbers"))


def _read_export(folder: Path) -> dict[str, Any]:
    path = folder / QUANT_CONFIG_FILE
    try:
        content = read_json(path.read_bytes())
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise CheckpointRefused(f"`{path}` is not JSON: {error}.") from None
    if isinstance(content, dict) and (name := unknown_word(content)):
        raise CheckpointRefused(
            f"`{path}` has `{name}`, which no ModelOpt up to {NEWEST_READ} writes; export the "
            "checkpoint again."
        )
    if isinstance(content, dict) and is_flat(content):
        return content
    quantization = content.get("quantization") if isinstance(content, dict) else None
    if not isinstance(quantization, dict) or not quantization:
        raise CheckpointRefused(f"`{path}` has no `quantization`; export the checkpoint again.")
    return content


def _modelopt(exported: Mapping[str, Any]) -> Scheme:
    algorithm, cache = exported.get("quant_algo"), exported.get("kv_cache_quant_algo")
    if algorithm not in (*_OF_MODELOPT, MIXED_PRECISION):
        raise _refused("modelopt", f"its quant_algo `{algorithm}`")
    if cache not in (None, "FP8"):
        raise _refused("modelopt", f"its kv_cache_quant_algo `{cache}`")
    return Scheme(
        method="modelopt",
        number=Number.MIXED if algorithm == MIXED_PRECISION else Number(algorithm),
        inputs=Inputs.EXPORTED,
        has_fp8_cache=cache == "FP8",
        excluded=tuple(exported.get("exclude_modules") or ()),
        layers=_mixed_layers(exported) if algorithm == MIXED_PRECISION else {},
    )


def _mixed_layers(exported: Mapping[str, Any]) -> dict[str, Number]:
    layers = exported.get("quantized_layers")
    if not isinstance(layers, Mapping) or not layers:
        raise _refused("modelopt", f"`{MIXED_PRECISION}` without `quantized_layers`")
    algorithms = {}
    for name, each in layers.items():
        algorithm = each.get("quant_algo") if isinstance(each, Mapping) else None
        if algorithm not in _OF_MODELOPT:
            raise _refused("modelopt", f"the quant_algo `{algorithm}` of `{name}`")
        algorithms[name] = Number(algorithm)
    return algorithms


def _compressed_tensors(block: Mapping[str, Any]) -> Scheme:
    groups = list((block.get("config_groups") or {}).values())
    if len(groups) != 1 or groups[0].get("targets") != ["Linear"]:
        raise _refused(
            COMPRESSED, "more than one group of layers, or one that is not all of `Linear`"
        )
    weights, cache = groups[0].get("weights") or {}, block.get("kv_cache_scheme")
    number = _number(block, groups[0], weights)
    if (block.get("sparsity_config") or {}).get("format", "dense") != "dense":
        raise _refused(COMPRESSED, "sparse weights")
    if cache and (_named(cache) != "FP8" or cache.get("strategy", "tensor") != "tensor"):
        raise _refused(COMPRESSED, f"a KV cache in {_words(cache)}")
    return Scheme(
        method=COMPRESSED,
        number=number,
        inputs=_inputs(groups[0].get("input_activations")),
        has_fp8_cache=bool(cache),
        excluded=tuple(block.get("ignore") or ()),
    )


def _fp8_blocks(block: Mapping[str, Any]) -> Scheme:
    """Return the scheme of DeepSeek's form, whose head stays as it is whether named or not."""
    size, inputs = block.get("weight_block_size"), block.get("activation_scheme", "dynamic")
    if size != [FP8_BLOCK, FP8_BLOCK] or block.get("fmt", "e4m3") != "e4m3":
        raise _refused(BLOCKS, f"FP8 weights with the weight_block_size `{size}`")
    if inputs != "dynamic":
        raise _refused(BLOCKS, f"the activation_scheme `{inputs}`")
    left = block.get("modules_to_not_convert") or block.get("ignored_layers") or ()
    return Scheme(
        method=BLOCKS,
        number=Number.FP8_BLOCKS,
        inputs=Inputs.PER_BLOCK,
        has_fp8_cache=False,
        excluded=("lm_head", *left),
    )


def _number(
    block: Mapping[str, Any], group: Mapping[str, Any], weights: Mapping[str, Any]
) -> Number:
    if _is_fp8(weights) and weights.get("strategy") in ("tensor", "channel"):
        return Number.FP8
    is_packed = (group.get("format") or block.get("format")) == PACKED
    if is_packed and _is_int4(weights) and not odd_integers(weights):
        return Number.INT4
    raise _refused(COMPRESSED, f"weights in {_words(weights)}")


def _inputs(block: Mapping[str, Any] | None) -> Inputs:
    if not block:
        return Inputs.UNTOUCHED
    match bool(block.get("dynamic")), block.get("strategy"):
        case False, "tensor" if _is_fp8(block):
            return Inputs.EXPORTED
        case True, "token" if _is_fp8(block):
            return Inputs.PER_TOKEN
    raise _refused(COMPRESSED, f"inputs in {_words(block)}")


def _is_fp8(block: Mapping[str, Any]) -> bool:
    return (block.get("type"), block.get("num_bits")) == ("float", 8)


def _is_int4(block: Mapping[str, Any]) -> bool:
    return (block.get("type"), block.get("num_bits")) == ("int", 4)


def _named(block: Mapping[str, Any]) -> str:
    """ModelOpt's name of a number whose scales are exported, or what else it is."""
    return "FP8" if _is_fp8(block) and not block.get("dynamic") else _words(block)


def _words(block: Mapping[str, Any]) -> str:
    words = [block.get(name) for name in ("num_bits", "type", "strategy")]
    dynamic = " with scales found while serving" if block.get("dynamic") else ""
    return f"`{' '.join(str(word) for word in words if word) or 'nothing named'}`{dynamic}"


def _refused(method: str, what: str) -> CheckpointRefused:
    return CheckpointRefused(
        f"The checkpoint is quantized with {method}, and the native engine does not read {what}. "
        "It emulates ModelOpt's FP8, NVFP4 and mixtures of the two, FP8 in blocks of 128, and "
        "compressed-tensors' FP8 and symmetric INT4. Build from the original checkpoint, or serve "
        "this one with `vllm` or `trtllm` on a GPU."
    )
