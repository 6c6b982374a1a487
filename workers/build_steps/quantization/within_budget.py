"""What a config asks of single layers: those that it excludes, and a budget for the others."""

import gc
from collections.abc import Callable, Sequence

import torch
from torch import nn

from controlplane.domain.facts.bit_budgets import searched_numbers
from controlplane.domain.facts.modelopt_declaration import MIXED_PRECISION
from controlplane.domain.failures.registry import quantization
from controlplane.domain.spec import Spec
from workers.build_steps.calibration.samples import SEED
from workers.build_steps.failures import StepFailure
from workers.build_steps.quantization import failures
from workers.build_steps.quantization.calibrating import NothingToQuantizeError
from workers.build_steps.quantization.checkpoint import Checkpoint
from workers.build_steps.quantization.declared_exclusions import EVERYTHING
from workers.build_steps.quantization.exclusions import excluded_quantizers
from workers.build_steps.quantization.loading import Device, load_model
from workers.build_steps.quantization.recipes import ModelOptConfig
from workers.build_steps.quantization.searching import Budget, Chosen, choose_numbers


def within_budget(
    spec: Spec,
    checkpoint: Checkpoint,
    config: ModelOptConfig,
    samples: Sequence[Sequence[int]],
    device: Device,
    dtype: torch.dtype,
    on_samples: Callable[[int, int], None],
) -> tuple[Chosen | None, ModelOptConfig]:
    """Return what a search chose, and the config with it; the config as it is without a budget."""
    if spec.bit_budget is None:
        return None, config
    if checkpoint.is_encoder or checkpoint.facts.experts:
        raise StepFailure.of(quantization.NOT_SEARCHED, architecture=checkpoint.architecture)
    torch.manual_seed(SEED)
    numbers = searched_numbers(spec.quantization_type.precision.weights)
    budget = Budget(effective_bits=spec.bit_budget, numbers=numbers)
    chosen = _chosen(spec, budget, checkpoint, config, samples, device, dtype, on_samples)
    gc.collect()  # the model that was searched, which holds references to itself
    return chosen, chosen.applied_to(config)


def _chosen(
    spec: Spec,
    budget: Budget,
    checkpoint: Checkpoint,
    config: ModelOptConfig,
    samples: Sequence[Sequence[int]],
    device: Device,
    dtype: torch.dtype,
    on_samples: Callable[[int, int], None],
) -> Chosen:
    model = load_model(checkpoint, device=device, dtype=dtype)
    if any(each.is_meta for each in model.parameters()):
        words = "a search needs all weights on the GPUs at once"
        raise failures.no_device_memory(words, torch.cuda.device_count())
    excluding = without_excluded(spec, model, checkpoint, config)
    try:
        return choose_numbers(model, config, excluding, samples, budget, on_samples)
    except NothingToQuantizeError as error:
        quantization_type = spec.quantization_type.value
        raise StepFailure.of(
            quantization.NOTHING, wanted=quantization_type, architecture=checkpoint.architecture
        ) from error


def without_excluded(
    spec: Spec, model: nn.Module, checkpoint: Checkpoint, config: ModelOptConfig
) -> ModelOptConfig:
    """Return the config without what it is told to keep; raises StepFailure for unknown names."""
    patterns = _excluded(spec)
    return config.without(excluded_quantizers(model, checkpoint, patterns)) if patterns else config


def declared_patterns(spec: Spec) -> list[str]:
    """Return the patterns of what the export is to name; a search may have left any layer."""
    return _excluded(spec) if spec.bit_budget is None else [EVERYTHING]


def algorithms_of(spec: Spec) -> set[str | None]:
    """Return what the export may call itself: under a budget, any number or their mixture."""
    number = spec.quantization_type.precision.weights
    if spec.bit_budget is None:
        return {number.modelopt_name}
    numbers = searched_numbers(number)
    return {*(each.modelopt_name for each in numbers), *(MIXED_PRECISION,) * (len(numbers) > 1)}


def _excluded(spec: Spec) -> list[str]:
    return spec.engine_build.quantization_config.exclude_modules
