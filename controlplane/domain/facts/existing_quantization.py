"""How a checkpoint was quantized before it came here, by each method's own way of saying so."""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict

from controlplane.domain.facts import config_numbers as numbers
from controlplane.domain.facts.config_numbers import Config
from controlplane.domain.facts.families import DEEPSEEK_V4_MODEL_TYPES
from controlplane.domain.facts.modelopt_declaration import MIXED_PRECISION, is_flat
from controlplane.domain.facts.stored_blocks import is_of_mlx, unread_block
from controlplane.domain.facts.unread_block import UnreadBlock

_HALF_BYTE_AND_SCALE = 0.5625
"""NVFP4: 4 bits and one FP8 scale for 16 numbers."""
MXFP4_BYTES = 0.53125
"""4 bits and one byte for 32 numbers."""
_INT4_BYTES = 0.53
"""4 bits, a 16-bit scale and a 4-bit zero for each 128 numbers."""
_WORDS = (
    ("mxfp4", MXFP4_BYTES), ("fp4", _HALF_BYTE_AND_SCALE), ("mxfp8", 1.03), ("fp8", 1.0),
    ("float8", 1.0), ("int8", 1.0), ("w8a8", 1.0), ("w4a", _INT4_BYTES), ("int4", _INT4_BYTES),
)  # fmt: skip

_OWN_FILES: Mapping[str, str] = {"quantize_config.json": "gptq", "quant_config.json": "awq"}
"""Written by AutoGPTQ and AutoAWQ before config.json had a place for it."""

_ATTENTION = re.compile(
    r"(attn|attention)(\.?\*|\.\*.*)?$|(q_proj|q_a_proj|o_proj|in_proj_qkvz?)\*?$"
)
_SHARED = re.compile(r"shared_expert|\.mlp\*$")
_FEED_FORWARD = re.compile(r"mlp|ffn|expert|mixer")


class ExistingQuantization(BaseModel):
    """How a checkpoint was already quantized before it came to us."""

    model_config = ConfigDict(frozen=True)

    method: str
    """`modelopt`, `gptq`, `awq`, `fp8`, `compressed-tensors`, `bitsandbytes`, `gguf`, …"""
    is_guessed: bool = False
    """The block names no method: it is told from the settings that only one method has."""
    algorithm: str | None = None
    kv_cache: str | None = None
    bits: int | None = None
    block: int | None = None
    """Rows of weights that share a scale, where scales come in blocks."""
    group: int | None = None
    """Inputs of an INT4 or INT8 weight that share a scale; None where a whole row does."""
    is_symmetric: bool | None = None
    """Whether GPTQ kept its numbers around zero; None where the file does not say."""
    activations: str | None = None
    """What a compressed-tensors checkpoint rounds the inputs of its layers to: `INT8`, `FP8`."""
    layout: str | None = None
    """How a compressed-tensors checkpoint lays its numbers out: `pack-quantized`, …"""
    is_sparse: bool = False
    """A compressed-tensors checkpoint leaves out numbers that are zero."""
    is_mixed: bool = False
    """Parts of a compressed-tensors checkpoint are quantized in different ways."""
    keeps_attention: bool = False
    """Attention stays in 16 bits."""
    keeps_mlp: bool = False
    """Shared experts and dense MLPs stay in 16 bits; routed experts do not."""
    has_fp4_experts: bool = False
    """Routed experts are in MXFP4 beside the rest in FP8, as DeepSeek V4's are."""
    mixed_algorithm: str | None = None
    """What most MLPs have where `algorithm` is a mixture."""
    layer_algorithms: tuple[str, ...] = ()
    """All that its layers have, where `algorithm` is a mixture that names them."""
    unread: UnreadBlock = UnreadBlock()
    """What of its block vLLM refuses."""

    @property
    def mixes_fp8_and_fp4(self) -> bool:
        """Whether its layers have ModelOpt's FP8 and NVFP4, and nothing else."""
        is_mixed = (self.algorithm or "").upper() == MIXED_PRECISION
        return is_mixed and {*self.layer_algorithms} == {"FP8", "NVFP4"}

    @property
    def is_fp8(self) -> bool:
        return not self.is_fp4 and "fp8" in self._words

    @property
    def is_fp4(self) -> bool:
        return "fp4" in self._words

    @property
    def bytes_per_weight(self) -> float:
        """Bytes of one quantized weight with its share of the scales."""
        for word, size in _WORDS:
            if word in self._words:
                return size
        if self.bits and self.bits <= 8:
            return self.bits / 8 * (1.06 if self.bits < 8 else 1.0)
        return _INT4_BYTES if self.method in ("gptq", "awq", "auto-round") else 1.0

    @property
    def _words(self) -> str:
        algorithm = self.mixed_algorithm or self.algorithm or ""
        return f"{self.method if not self.mixed_algorithm else ''} {algorithm}".lower()


def read_quantization(
    config: Config, hf_quant_config: Config | None, files: Collection[str] = ()
) -> ExistingQuantization | None:
    """Return what the files say, or None for a checkpoint in its own precision.

    `files` are the names in the checkpoint's folder: older tools wrote a file of their own.
    """
    given = hf_quant_config if isinstance(hf_quant_config, Mapping) else {}
    exported = given.get("quantization")
    if isinstance(exported, Mapping):
        return ExistingQuantization(
            method="modelopt",
            algorithm=_word(exported.get("quant_algo")),
            kv_cache=_word(exported.get("kv_cache_quant_algo")),
            mixed_algorithm=_most_common(exported.get("quantized_layers")),
            layer_algorithms=_of_layers(exported.get("quantized_layers")),
            unread=unread_block("modelopt", exported),
            **_left_out(exported.get("exclude_modules")),
        )
    block = numbers.mapping(config, "quantization_config", "compression_config")
    if not block and is_flat(given):
        block = given
    method = _method(block) or _method_by_file(files)
    if method is None:
        return None
    return ExistingQuantization(
        method=method,
        is_guessed=bool(block)
        and not (_word(block.get("quant_method")) or _names_algorithm(block)),
        algorithm=_algorithm(block),
        kv_cache=_cache(block),
        bits=numbers.whole(block.get("bits", block.get("w_bit"))) or _bits_of_bitsandbytes(block),
        block=_rows_of_a_block(block),
        group=_inputs_of_a_group(block),
        is_symmetric=sym if isinstance(sym := block.get("sym"), bool) else None,
        activations=next(
            filter(None, map(_kind, _group_numbers(block, "input_activations"))), None
        ),
        layout=_word(block.get("format")),
        is_sparse=_leaves_out_zeros(block),
        is_mixed=len({_kind(weights) for weights in _group_weights(block)}) > 1,
        mixed_algorithm=_word(block.get("moe_quant_algo")),
        layer_algorithms=_of_layers(block.get("quantized_layers")),
        unread=unread_block(method, block),
        has_fp4_experts=method == "fp8" and _has_fp4_experts(config),
        **_left_out(block.get("ignore") or block.get("modules_to_not_convert")),
    )


def _method(block: Config) -> str | None:
    """Return the method that a block names, by its own word or by settings that only it has."""
    if named := _word(block.get("quant_method")):
        return named
    if _names_algorithm(block):
        return "modelopt"
    if _bits_of_bitsandbytes(block):
        return "bitsandbytes"
    return "mlx" if is_of_mlx(block) else None


def _names_algorithm(block: Config) -> bool:
    return _word(block.get("quant_algo")) is not None


def _method_by_file(files: Collection[str]) -> str | None:
    return next((method for name, method in _OWN_FILES.items() if name in files), None)


def _algorithm(block: Config) -> str | None:
    named = _word(block.get("quant_algo")) or _word(block.get("fmt"))
    return named or _by_groups(block) or _word(block.get("format"))


def _by_groups(block: Config) -> str | None:
    """Return `FP8`, `FP4`, `INT4` … by the bit widths of a compressed-tensors block."""
    return next(filter(None, map(_kind, _group_weights(block))), None)


def _kind(weights: Mapping[str, Any]) -> str | None:
    bits = numbers.whole(weights.get("num_bits")) or 0
    kind = "FP" if weights.get("type") == "float" else "INT"
    odd = odd_integers(weights) if kind == "INT" else ""
    return f"{kind}{bits}{odd}" if bits in (4, 8) else None


def _integer_strategy(weights: Mapping[str, Any]) -> str:
    """Return over what one scale goes; where it is not said, over a group if that has a size.

    Source: compressed-tensors, `QuantizationArgs`, 2026-11-28.
    """
    return str(weights.get("strategy") or ("group" if weights.get("group_size") else "tensor"))


def odd_integers(weights: Mapping[str, Any]) -> str:
    """Return what sets integers apart from those around zero in the order of the layer."""
    if weights.get("symmetric") is False:
        return "_ASYMMETRIC"
    if _integer_strategy(weights) == "tensor":
        return "_BY_TENSOR"
    return "_REORDERED" if weights.get("actorder") in ("group", True) else ""


def _group_weights(block: Config) -> Iterator[Mapping[str, Any]]:
    return _group_numbers(block, "weights")


def _group_numbers(block: Config, which: str) -> Iterator[Mapping[str, Any]]:
    groups = block.get("config_groups")
    for group in groups.values() if isinstance(groups, Mapping) else ():
        numbers_of_it = group.get(which) if isinstance(group, Mapping) else None
        if isinstance(numbers_of_it, Mapping):
            yield numbers_of_it


def _has_fp4_experts(config: Config) -> bool:
    """Source: vLLM 0.25.1 to 0.33.0, `models/deepseek_v4/`; `fp4` where the file says nothing."""
    return (
        config.get("model_type") in DEEPSEEK_V4_MODEL_TYPES
        and config.get("expert_dtype", "fp4") == "fp4"
    )


def _leaves_out_zeros(block: Config) -> bool:
    sparsity = block.get("sparsity_config")
    return isinstance(sparsity, Mapping) and bool(sparsity.get("targets"))


def _cache(block: Config) -> str | None:
    named = _word(block.get("kv_cache_quant_algo"))
    scheme = block.get("kv_cache_scheme")
    if named or not isinstance(scheme, Mapping):
        return named
    return {8: "FP8", 4: "NVFP4"}.get(numbers.whole(scheme.get("num_bits")) or 0)


def _rows_of_a_block(block: Config) -> int | None:
    in_groups = (each.get("block_structure") for each in _group_weights(block))
    for sizes in (block.get("weight_block_size"), *in_groups):
        if isinstance(sizes, list | tuple) and sizes:
            return numbers.whole(sizes[0])
    return None


def _inputs_of_a_group(block: Config) -> int | None:
    integers = (each for each in _group_weights(block) if (_kind(each) or "").startswith("INT"))
    sizes = (each.get("group_size", each.get("q_group_size")) for each in (block, *integers))
    return next((size for each in sizes if (size := numbers.whole(each) or 0) > 0), None)


def _bits_of_bitsandbytes(block: Config) -> int | None:
    if block.get("load_in_4bit") is True:
        return 4
    return 8 if block.get("load_in_8bit") is True else None


def _left_out(names: Any) -> dict[str, bool]:
    listed = [str(name) for name in names] if isinstance(names, list | tuple) else []
    return {
        "keeps_attention": any(_ATTENTION.search(name) for name in listed),
        "keeps_mlp": any(_SHARED.search(name) for name in listed),
    }


def _most_common(layers: Any) -> str | None:
    """Return the algorithm of most MLPs and experts of a mixed checkpoint."""
    if not isinstance(layers, Mapping):
        return None
    counts = Counter(
        algorithm
        for name, entry in layers.items()
        if isinstance(entry, Mapping)
        and _FEED_FORWARD.search(str(name))
        and (algorithm := _word(entry.get("quant_algo")))
    )
    return counts.most_common(1)[0][0] if counts else None


def _of_layers(layers: Any) -> tuple[str, ...]:
    entries = layers.values() if isinstance(layers, Mapping) else ()
    algorithms = {_word(each.get("quant_algo")) for each in entries if isinstance(each, Mapping)}
    return tuple(sorted(each.upper() for each in algorithms if each))


def _word(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
