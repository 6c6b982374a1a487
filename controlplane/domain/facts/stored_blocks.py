"""What a checkpoint says of its own quantization that no loader of an engine takes.

Source for vLLM: `compressed_tensors.py` (`_get_scheme_from_parts`, `validate_kv_cache_scheme`),
its `compressed_tensors_moe/` and `transform/`, `fp8.py` and `modelopt.py` under
`model_executor/layers/quantization/`; vLLM 0.25.1 to 0.33.0, checked 2026-11-30. Only what all of
these versions refuse is here. For TensorRT-LLM: `load_hf_quant_config` of
`_torch/model_config.py` and `update_quant_config_from_compressed_tensors`; 1.2 and the 1.3 line,
checked 2026-11-30.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from controlplane.domain.facts import config_numbers as numbers
from controlplane.domain.facts.rounded_blocks import unread_of_auto_round, unread_of_quark
from controlplane.domain.facts.unread_block import UnreadBlock

Block = Mapping[str, Any]

_CACHE_SCALES = ("tensor", "attn_head")
_INPUT_SCALES = ("static", "dynamic")
_GROUP_BESIDE_FP8 = 128
_UNPACKED = ("int-quantized", "float-quantized", "naive-quantized")
_INPUTS_FOR_TRTLLM: Mapping[tuple[str, str], str] = {
    ("FP8", "channel"): "token", ("FP8", "block"): "group",
    ("FP4", "tensor_group"): "tensor_group",
}  # fmt: skip
"""Weights that TensorRT-LLM reads of compressed-tensors -> how their inputs are scaled."""
_MLX_KEYS = {"group_size", "bits", "mode"}


def unread_block(method: str, block: Block) -> UnreadBlock:
    """Return what of a `quantization_config` no loader takes."""
    named = method.lower().replace("_", "-")
    if named == "compressed-tensors":
        return UnreadBlock(
            always=next(_of_groups(block), None) or _of_cache(block.get("kv_cache_scheme")),
            of_experts=next(_of_expert_groups(block), None),
            over_ranks=_of_transforms(block.get("transform_config")),
            by_trtllm=next(_of_groups_for_trtllm(block), None),
        )
    if named == "fp8":
        return UnreadBlock(always=_of_fp8(block), by_trtllm=_of_fp8_for_trtllm(block))
    if named in ("auto-round", "inc"):
        return unread_of_auto_round(block)
    if named == "quark":
        return unread_of_quark(block)
    return UnreadBlock(always=_of_mixture(block) if named == "modelopt" else None)


def is_of_mlx(block: Block) -> bool:
    """Return whether only MLX writes such a block: numbers without the name of a method."""
    return {"group_size", "bits"} <= block.keys() and all(
        key in _MLX_KEYS or isinstance(value, Mapping | bool) for key, value in block.items()
    )


def _groups(block: Block) -> Iterator[tuple[Block, Block | None, str]]:
    groups = block.get("config_groups")
    for group in groups.values() if isinstance(groups, Mapping) else ():
        weights = group.get("weights") if isinstance(group, Mapping) else None
        if isinstance(weights, Mapping):
            inputs = group.get("input_activations")
            layout = str(group.get("format") or block.get("format") or "")
            yield weights, inputs if isinstance(inputs, Mapping) else None, layout


def _of_groups(block: Block) -> Iterator[str]:
    for weights, inputs, layout in _groups(block):
        if _is_nvfp4(weights) and inputs is not None and not _is_nvfp4(inputs):
            yield f"keeps weights in NVFP4 beside inputs in {_kind(inputs)}"
        elif _is_four_bit_integer(weights) and inputs is not None and _kind(inputs) == "FP8":
            yield from _of_mixed_group(weights)
        elif _is_four_bit_integer(weights) and inputs is None and layout in _UNPACKED:
            yield f"keeps INT4 weights in the layout `{layout}`, where `pack-quantized` is read"


def _of_mixed_group(weights: Block) -> Iterator[str]:
    size = numbers.whole(weights.get("group_size"))
    if size != _GROUP_BESIDE_FP8:
        yield f"scales INT4 weights by {size or 'a row'} beside inputs in FP8, where 128 is read"


def _of_expert_groups(block: Block) -> Iterator[str]:
    for weights, inputs, _ in _groups(block):
        if _kind(weights) != "INT8" or inputs is None or _kind(inputs) != "INT8":
            continue
        if weights.get("strategy") != "channel" or inputs.get("dynamic") is not True:
            yield "keeps INT8 experts in another way than by channel and inputs by token"


def _of_cache(scheme: Any) -> str | None:
    if not isinstance(scheme, Mapping):
        return None
    strategy = scheme.get("strategy")
    if scheme.get("type") not in (None, "float") or numbers.whole(scheme.get("num_bits")) != 8:
        return f"asks for a KV cache in {_kind(scheme)}, where FP8 alone is read"
    if strategy is not None and strategy not in _CACHE_SCALES:
        return f"scales its KV cache by `{strategy}`, where `tensor` and `attn_head` are read"
    return "scales its KV cache around a zero point" if scheme.get("symmetric") is False else None


def _of_transforms(config: Any) -> str | None:
    groups = config.get("config_groups") if isinstance(config, Mapping) else None
    for scheme in groups.values() if isinstance(groups, Mapping) else ():
        applied = scheme.get("apply") if isinstance(scheme, Mapping) else None
        for each in applied if isinstance(applied, list) else ():
            if isinstance(each, Mapping) and each.get("location") in ("input", "output"):
                return "turns inputs of layers while it runs (`transform_config`)"
    return None


def _of_fp8(block: Block) -> str | None:
    scales, sizes = block.get("activation_scheme"), block.get("weight_block_size")
    if isinstance(sizes, list) and len(sizes) != 2:
        return f"has a `weight_block_size` of {len(sizes)} numbers, where 2 are read"
    if isinstance(scales, str) and scales not in _INPUT_SCALES:
        return f"has `activation_scheme: {scales}`, where `static` and `dynamic` are read"
    return (
        "scales weights by blocks and inputs statically" if sizes and scales == "static" else None
    )


def _of_groups_for_trtllm(block: Block) -> Iterator[str]:
    for weights, inputs, _ in _groups(block):
        kind, strategy = _kind(weights), weights.get("strategy")
        read = _INPUTS_FOR_TRTLLM.get((kind, str(strategy)))
        if read is None and kind.startswith("FP"):
            yield f"scales its {kind} weights by `{strategy}`"
        elif read is not None and (inputs is None or inputs.get("strategy") != read):
            given = f"by `{inputs.get('strategy')}`" if inputs else "in 16 bits"
            yield f"has {kind} weights by `{strategy}` beside inputs {given}"


def _of_fp8_for_trtllm(block: Block) -> str | None:
    sizes = block.get("weight_block_size")
    if isinstance(sizes, list) and sizes and sizes != [128, 128]:
        return f"has FP8 blocks of {' x '.join(map(str, sizes))}, where 128 x 128 are read"
    is_plain = not sizes and block.get("activation_scheme") == "dynamic"
    return "has FP8 weights by tensor whose inputs are scaled as they come" if is_plain else None


def _of_mixture(block: Block) -> str | None:
    is_mixed = str(block.get("quant_algo")).upper() == "MIXED_PRECISION"
    lacks = is_mixed and not block.get("quantized_layers")
    return "mixes precisions and does not say which layer has which" if lacks else None


def _is_nvfp4(part: Block) -> bool:
    return _kind(part) == "FP4" and numbers.whole(part.get("group_size")) == 16


def _is_four_bit_integer(part: Block) -> bool:
    return _kind(part) == "INT4" and not part.get("dynamic")


def _kind(part: Block) -> str:
    kind = "FP" if part.get("type") == "float" else "INT"
    return f"{kind}{numbers.whole(part.get('num_bits')) or ''}"
