"""Which ModelOpt configs make which quantization type: weights and KV cache apart."""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from controlplane.domain.spec.choices import QuantizationType
from workers.build_steps.quantization import failures

Entry = dict[str, Any]

_FP8_NUMBER: Entry = {"num_bits": (4, 3), "axis": None}
_KV_CONFIG = "FP8_KV_CFG"

# ModelOpt would round what goes into a LayerNorm, for which a checkpoint has no scale and an
# engine no kernel.
_NO_NORMS: Entry = {"parent_class": "nn.LayerNorm", "quantizer_name": "*", "enable": False}
# An encoder's heads are a few thousand numbers that decide the answer: they stay 16-bit.
_ENCODER_HEADS = ("*classifier*", "*score*", "*pooler*", "*qa_outputs*", "*cls.*", "*vocab_*")
# BERT and its relatives do not call their feed-forward layers `mlp`.
_ENCODER_FEED_FORWARD = ("*intermediate.dense*", "*layer.*.output.dense*", "*ffn*")
_NOT_FEED_FORWARD = ("*attention.output.dense*",)


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """What ModelOpt is told for one quantization type."""

    weights: str
    """Name of the ModelOpt config for weights and activations."""
    mlp_only: bool = False
    kv_cache: bool = False

    @property
    def is_fp4(self) -> bool:
        return self.weights.startswith("NVFP4")


RECIPES: Mapping[QuantizationType, Recipe] = MappingProxyType(
    {
        QuantizationType.FP8: Recipe(weights="FP8_DEFAULT_CFG"),
        QuantizationType.FP8_KV: Recipe(weights="FP8_DEFAULT_CFG", kv_cache=True),
        QuantizationType.FP8_MLP_ONLY: Recipe(weights="FP8_DEFAULT_CFG", mlp_only=True),
        QuantizationType.FP4: Recipe(weights="NVFP4_DEFAULT_CFG"),
        QuantizationType.FP4_KV: Recipe(weights="NVFP4_DEFAULT_CFG", kv_cache=True),
        QuantizationType.FP4_MLP_ONLY: Recipe(weights="NVFP4_MLP_ONLY_CFG", mlp_only=True),
    }
)


@dataclass(frozen=True, kw_only=True)
class ModelOptConfig:
    """The config of one build, and the names to show for it."""

    config: dict[str, Any]
    names: tuple[str, ...]


def find_recipe(wanted: QuantizationType) -> Recipe:
    """Return the recipe of a type; raises StepFailure for one that is not built."""
    if wanted not in RECIPES:
        raise failures.unknown_type(wanted.value, [each.value for each in RECIPES])
    return RECIPES[wanted]


def modelopt_config(
    recipe: Recipe, presets: Any, *, has_kv_cache: bool, is_encoder: bool
) -> ModelOptConfig:
    """Return what `quantize` is given; `presets` is ModelOpt's module of named configs."""
    names = [recipe.weights]
    config = deepcopy(getattr(presets, recipe.weights))
    entries: list[Entry] = config["quant_cfg"]
    if recipe.mlp_only and not recipe.is_fp4:
        # ModelOpt has no FP8 preset for feed-forward layers alone: FP4's, with FP8 numbers in it.
        names.append("layers of NVFP4_MLP_ONLY_CFG")
        entries[:] = [_as_fp8(each) for each in deepcopy(presets.NVFP4_MLP_ONLY_CFG["quant_cfg"])]
    entries.append(dict(_NO_NORMS))
    if is_encoder:
        entries += _encoder_entries(recipe, entries)
    if recipe.kv_cache and has_kv_cache:
        names.append(_KV_CONFIG)
        entries += deepcopy(getattr(presets, _KV_CONFIG)["quant_cfg"])
    return ModelOptConfig(config=config, names=tuple(names))


def _as_fp8(entry: Entry) -> Entry:
    return {**entry, "cfg": dict(_FP8_NUMBER)} if "cfg" in entry else entry


def _encoder_entries(recipe: Recipe, entries: list[Entry]) -> list[Entry]:
    found: list[Entry] = []
    if recipe.mlp_only:
        number = next(each["cfg"] for each in entries if "cfg" in each)
        found += [
            {"quantizer_name": f"{layer}{kind}_quantizer", "cfg": deepcopy(number)}
            for layer in _ENCODER_FEED_FORWARD
            for kind in ("weight", "input")
        ]
        found += [{"quantizer_name": name, "enable": False} for name in _NOT_FEED_FORWARD]
    return [*found, *({"quantizer_name": name, "enable": False} for name in _ENCODER_HEADS)]
