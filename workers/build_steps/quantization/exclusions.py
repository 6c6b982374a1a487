"""Modules that a config keeps in 16 bits, as the model class names them."""

from collections.abc import Iterator, Sequence

from torch import nn

from controlplane.domain.facts.matrices import (
    MatrixKind,
    is_matched,
    nearest,
    of_all_experts,
    single_experts,
    unmatched,
)
from controlplane.domain.failures.registry import quantization
from workers.build_steps.failures import StepFailure
from workers.build_steps.quantization import failures
from workers.build_steps.quantization.checkpoint import Checkpoint
from workers.build_steps.quantization.renaming import class_names

_GATE_AND_UP = ("gate_proj", "up_proj", "w1", "w3")


def excluded_quantizers(
    model: nn.Module, checkpoint: Checkpoint, patterns: Sequence[str]
) -> tuple[str, ...]:
    """Return patterns of ModelOpt's quantizers for the modules that a config names.

    Raises StepFailure for a pattern that names no matrix of the checkpoint, or one expert of many.
    """
    kinds = checkpoint.facts.matrices
    if unknown := unmatched(kinds, patterns):
        raise failures.unknown_module(unknown[0], nearest(unknown[0], kinds))
    if alone := single_experts(patterns):
        raise StepFailure.of(
            quantization.ONE_EXPERT, pattern=alone[0], whole=of_all_experts(alone[0])
        )
    quantizers = dict.fromkeys(_quantizers(model, kinds, patterns))
    return tuple(quantizers)


def _quantizers(
    model: nn.Module, kinds: Sequence[MatrixKind], patterns: Sequence[str]
) -> Iterator[str]:
    named, modules = class_names(model), {name for name, _ in model.named_modules()}
    for kind in kinds:
        for module in kind.modules:
            if is_matched(module, patterns):
                yield _of_module(named(module), modules)


def _of_module(name: str, modules: set[str]) -> str:
    """Return the pattern of a module's quantizers; some classes keep experts in one module."""
    if name in modules or ".experts." not in name:
        return f"{name}.*quantizer"
    experts, _, projection = name.partition(".experts.")
    part = projection.rpartition(".")[2]
    return f"{experts}.experts.{'gate_up' if part in _GATE_AND_UP else 'down'}_proj_*"
