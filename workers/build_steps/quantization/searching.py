"""Which layer gets which number: ModelOpt's search within a budget of bits per weight."""

import logging
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from controlplane.domain.facts.bit_budgets import SEARCHED_SAMPLES
from controlplane.domain.facts.quantization import SIXTEEN_BITS, Number
from workers.build_steps.environment import SAMPLES_GATE
from workers.build_steps.quantization import failures
from workers.build_steps.quantization.calibrating import NothingToQuantizeError
from workers.build_steps.quantization.forward import run_batch
from workers.build_steps.quantization.modelopt import (
    auto_quantize,
    logged_warnings,
    presets,
    searched_anywhere,
)
from workers.build_steps.quantization.recipes import ModelOptConfig
from workers.engine.rounding import NVFP4_BLOCK
from workers.gates import pass_gate

_BITS_OF_SIXTEEN = 16
_BITS_PER_BYTE = 8

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Budget:
    effective_bits: float
    numbers: tuple[Number, ...]


@dataclass(frozen=True, kw_only=True)
class Chosen:
    effective_bits: float
    """Of all layers that the type quantizes, those that a config excludes counted with 16."""
    layers: Mapping[str, Number]

    def applied_to(self, config: ModelOptConfig) -> ModelOptConfig:
        left = [f"{name}.*quantizer" for name, each in self.layers.items() if each is SIXTEEN_BITS]
        applied = config.without(left)
        for name, number in self.layers.items():
            if number is not SIXTEEN_BITS:
                applied.config["quant_cfg"] += _entries(name, number)
        return ModelOptConfig(config=applied.config, names=(*config.names, "auto_quantize"))

    def to_json(self) -> dict[str, Any]:
        counts = Counter(each.label for each in self.layers.values())
        return {
            "effective_bits": round(self.effective_bits, 3),
            "layers_by_number": dict(sorted(counts.items())),
        }


def choose_numbers(
    model: nn.Module,
    config: ModelOptConfig,
    excluding: ModelOptConfig,
    samples: Sequence[Sequence[int]],
    budget: Budget,
    on_samples: Callable[[int, int], None],
) -> Chosen:
    """Return the number of each layer that costs least within the budget; the model is spent.

    `excluding` is the config without what is to stay in 16 bits. Raises NothingToQuantizeError
    where that is every layer, and StepFailure for a budget that no choice keeps to.
    """
    sizes = {name: each.weight.numel() for name, each in _matrices(model, config)}
    free = dict(_matrices(model, excluding))
    if not free:
        raise NothingToQuantizeError
    _refuse_odd_widths(free, budget)
    _refuse_unreachable(sizes, free, budget)
    state = _search(model, sizes, free, samples[:SEARCHED_SAMPLES], budget, on_samples)
    layers = _numbers(state, budget, free)
    chosen = Chosen(effective_bits=_bits(sizes, layers), layers=layers)
    log.info("auto_quantize: %s", chosen.to_json())
    return chosen


def _search(
    model: nn.Module,
    sizes: Mapping[str, int],
    free: Mapping[str, nn.Module],
    samples: Sequence[Sequence[int]],
    budget: Budget,
    on_samples: Callable[[int, int], None],
) -> Mapping[str, Any]:
    count = _Counted(len(samples) * (len(budget.numbers) + 1), on_samples)
    others = [name for name, each in model.named_modules() if hasattr(each, "weight")]
    with logged_warnings(), searched_anywhere():
        _, state = auto_quantize(
            model,
            constraints={
                "effective_bits": budget.effective_bits,
                "cost": {"excluded_module_name_patterns": [n for n in others if n not in sizes]},
            },
            quantization_formats=[getattr(presets, each.modelopt_config)
                                  for each in budget.numbers],
            data_loader=samples,
            forward_step=count.forward,
            loss_func=_loss,
            disabled_layers=[name for name in others if name not in free],
            num_calib_steps=len(samples),
            num_score_steps=len(samples),
        )  # fmt: skip
    if not state["best"]["is_satisfied"]:
        raise failures.budget(budget.effective_bits, _least(sizes, free, budget))
    result: Mapping[str, Any] = state
    return result


class _Counted:
    """Runs one sample, and tells how many are done."""

    def __init__(self, total: int, on_samples: Callable[[int, int], None]) -> None:
        self._done, self._total, self._on_samples = 0, total, on_samples

    def forward(self, model: nn.Module, sample: Sequence[int]) -> Any:
        self._done += 1
        self._on_samples(self._done, self._total)
        pass_gate(SAMPLES_GATE)
        return run_batch(model, [sample])


def _loss(outputs: Any, sample: Sequence[int]) -> Tensor:
    logits: Tensor = outputs.logits
    following = torch.tensor(sample[1:], device=logits.device)
    return nn.functional.cross_entropy(logits[0, :-1].float(), following)


def _matrices(model: nn.Module, config: ModelOptConfig) -> list[tuple[str, Any]]:
    return [
        (name, each)
        for name, each in model.named_modules()
        if isinstance(each, nn.Linear) and config.weight_pattern_matches(name)
    ]


def _numbers(
    state: Mapping[str, Any], budget: Budget, free: Mapping[str, nn.Module]
) -> dict[str, Number]:
    named = {each.modelopt_config: each for each in budget.numbers}
    numbers = {}
    for group, recipe in state["best"]["recipe"].items():
        number = named.get(str(recipe).partition("(")[0], SIXTEEN_BITS)
        for name in state["candidate_stats"][group]["module_names"]:
            if name in free:
                numbers[name] = number
    return numbers


def _entries(module: str, number: Number) -> list[dict[str, Any]]:
    entries = getattr(presets, number.modelopt_config)["quant_cfg"]
    return [
        {"quantizer_name": f"{module}.{kind}_quantizer", "cfg": entry["cfg"]}
        for kind in ("weight", "input")
        for entry in entries
        if entry.get("cfg") and entry["quantizer_name"].endswith(f"*{kind}_quantizer")
    ]


def _bits(sizes: Mapping[str, int], layers: Mapping[str, Number]) -> float:
    bits = {name: _BITS_PER_BYTE * each.bytes for name, each in layers.items()}
    total = sum(size * bits.get(name, _BITS_OF_SIXTEEN) for name, size in sizes.items())
    return total / sum(sizes.values())


def _least(sizes: Mapping[str, int], free: Mapping[str, nn.Module], budget: Budget) -> float:
    smallest = min(budget.numbers, key=lambda each: each.bytes)
    return _bits(sizes, dict.fromkeys(free, smallest))


def _refuse_unreachable(
    sizes: Mapping[str, int], free: Mapping[str, nn.Module], budget: Budget
) -> None:
    if budget.effective_bits < (least := _least(sizes, free, budget)):
        raise failures.budget(budget.effective_bits, least)


def _refuse_odd_widths(free: Mapping[str, Any], budget: Budget) -> None:
    if not any(each.bytes < 1 for each in budget.numbers):
        return
    if odd := [name for name, each in free.items() if each.weight.shape[-1] % NVFP4_BLOCK]:
        raise failures.odd_width(odd, NVFP4_BLOCK)
