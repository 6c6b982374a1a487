"""Which ModelOpt configs make which quantization type: weights and KV cache apart."""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from fnmatch import fnmatchcase
from types import MappingProxyType
from typing import Any

from controlplane.domain.facts.quantization import NVFP4, Number
from controlplane.domain.spec.choices import QuantizationType
from workers.build_steps.quantization import failures

Entry = dict[str, Any]

_LENDER = NVFP4.modelopt_mlp_config
"""Whose layers a number takes that has no config for feed-forward layers alone."""
_KV_CONFIG = "FP8_KV_CFG"

# ModelOpt would round what goes into a LayerNorm, for which a checkpoint has no scale and an
# engine no kernel.
_NO_NORMS: Entry = {"parent_class": "nn.LayerNorm", "quantizer_name": "*", "enable": False}
# A convolution over a few tokens has rows of three or four numbers, which divide into no block, and
# no engine has a kernel for it in fewer bits.
_NO_CONVOLUTIONS: Entry = {"parent_class": "nn.Conv1d", "quantizer_name": "*", "enable": False}
# An encoder's heads are a few thousand numbers that decide the answer: they stay 16-bit.
_ENCODER_HEADS = ("*classifier*", "*score*", "*pooler*", "*qa_outputs*", "*cls.*", "*vocab_*")
# BERT and its relatives do not call their feed-forward layers `mlp`.
_ENCODER_FEED_FORWARD = ("*intermediate.dense*", "*layer.*.output.dense*", "*ffn*")
# Some decoders do not either; their routers lie within.
_DECODER_FEED_FORWARD = ("*feed_forward*",)
_ROUTERS = ("*router*", "*feed_forward.gate.*")
_NOT_FEED_FORWARD = ("*attention.output.dense*",)


@dataclass(frozen=True, kw_only=True)
class Recipe:
    number: Number
    mlp_only: bool = False
    kv_cache: bool = False

    @property
    def weights(self) -> str:
        """Name of the ModelOpt config for weights and activations."""
        own = self.number.modelopt_mlp_config if self.mlp_only else ""
        return own or self.number.modelopt_config

    @property
    def borrows_layers(self) -> bool:
        """Whether ModelOpt has no config for feed-forward layers alone in this number."""
        return self.mlp_only and not self.number.modelopt_mlp_config


RECIPES: Mapping[QuantizationType, Recipe] = MappingProxyType(
    {
        kind: Recipe(
            number=kind.precision.weights,
            mlp_only=kind.precision.mlp_only,
            kv_cache=kind.precision.quantizes_kv_cache,
        )
        for kind in QuantizationType
        if kind.precision.is_built
    }
)


@dataclass(frozen=True, kw_only=True)
class ModelOptConfig:
    config: dict[str, Any]
    names: tuple[str, ...]

    def weight_pattern_matches(self, module: str) -> bool:
        is_enabled = False
        for entry in self.config["quant_cfg"]:
            if "parent_class" not in entry and fnmatchcase(
                f"{module}.weight_quantizer", entry["quantizer_name"]
            ):
                is_enabled = bool(entry.get("enable", True))
        return is_enabled

    def without(self, quantizers: Sequence[str]) -> "ModelOptConfig":
        config = deepcopy(self.config)
        config["quant_cfg"] += [{"quantizer_name": each, "enable": False} for each in quantizers]
        return ModelOptConfig(config=config, names=self.names)

    def with_group(self, group: int) -> "ModelOptConfig":
        """Return the config with so many numbers of a row to a scale."""
        config = deepcopy(self.config)
        for entry in config["quant_cfg"]:
            for each in _cells(entry.get("cfg")):
                if each.get("block_sizes"):
                    each["block_sizes"] = {**each["block_sizes"], -1: group}
        return ModelOptConfig(config=config, names=self.names)


def find_recipe(quantization_type: QuantizationType) -> Recipe:
    """Return the recipe of a type; raises StepFailure for one that is not built."""
    if quantization_type not in RECIPES:
        raise failures.unknown_type(quantization_type.value, [each.value for each in RECIPES])
    return RECIPES[quantization_type]


def modelopt_config(
    recipe: Recipe, presets: Any, *, has_kv_cache: bool, is_encoder: bool
) -> ModelOptConfig:
    """Return what `quantize` is given; `presets` is ModelOpt's module of named configs."""
    names = [recipe.weights]
    config = deepcopy(getattr(presets, recipe.weights))
    entries: list[Entry] = config["quant_cfg"]
    if recipe.borrows_layers:
        names.append(f"layers of {_LENDER}")
        lent = deepcopy(getattr(presets, _LENDER)["quant_cfg"])
        entries[:] = [_in_number(each, recipe.number) for each in lent]
    entries += [dict(_NO_NORMS), dict(_NO_CONVOLUTIONS)]
    if is_encoder:
        entries += _encoder_entries(recipe, entries)
    elif recipe.mlp_only:
        entries += [*_in_fewer_bits(_DECODER_FEED_FORWARD, entries), *_left(_ROUTERS)]
    if recipe.kv_cache and has_kv_cache:
        names.append(_KV_CONFIG)
        entries += deepcopy(getattr(presets, _KV_CONFIG)["quant_cfg"])
    return ModelOptConfig(config=config, names=tuple(names))


def _cells(cfg: Any) -> list[Entry]:
    return cfg if isinstance(cfg, list) else [cfg] if cfg else []


def _in_number(entry: Entry, number: Number) -> Entry:
    return {**entry, "cfg": dict(number.modelopt_quantizer or {})} if "cfg" in entry else entry


def _encoder_entries(recipe: Recipe, entries: list[Entry]) -> list[Entry]:
    chosen: list[Entry] = []
    if recipe.mlp_only:
        chosen += _in_fewer_bits(_ENCODER_FEED_FORWARD, entries)
        chosen += _left(_NOT_FEED_FORWARD)
    return [*chosen, *_left(_ENCODER_HEADS)]


def _in_fewer_bits(layers: Sequence[str], entries: list[Entry]) -> list[Entry]:
    """Return the entries that give layers the number that the config has for others."""
    number = next(each["cfg"] for each in entries if "cfg" in each)
    return [
        {"quantizer_name": f"{layer}{kind}_quantizer", "cfg": deepcopy(number)}
        for layer in layers
        for kind in ("weight", "input")
    ]


def _left(names: Sequence[str]) -> list[Entry]:
    return [{"quantizer_name": name, "enable": False} for name in names]
