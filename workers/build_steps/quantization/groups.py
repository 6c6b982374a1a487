"""How many numbers of a row share a scale, by the widths of the layers that are quantized."""

from collections.abc import Iterator, Sequence

from torch import nn

from controlplane.domain.failures.registry import quantization
from workers.build_steps.failures import StepFailure
from workers.build_steps.quantization import failures
from workers.build_steps.quantization.recipes import ModelOptConfig

_OF_EXPERTS = ("gate_up_proj", "up_proj", "gate_proj", "down_proj")


def choose_group(
    model: nn.Module, config: ModelOptConfig, groups: Sequence[int], *, ranks: int
) -> int:
    """Return the first that divides the inputs of all layers, cut for each of the GPUs.

    Raises StepFailure where none does, and for experts, of which ModelOpt 0.47 would export half.
    """
    widths = list(_widths(model, config))
    for group in groups:
        if all(width % (group * ranks) == 0 for _, width in widths):
            return group
    odd = [name for name, width in widths if width % (groups[-1] * ranks)]
    raise failures.odd_groups(odd, groups, ranks)


def _widths(model: nn.Module, config: ModelOptConfig) -> Iterator[tuple[str, int]]:
    for name, module in model.named_modules():
        if not config.weight_pattern_matches(name):
            continue
        if isinstance(module, nn.Linear):
            yield name, module.weight.shape[-1]
        for part in _OF_EXPERTS:
            weight = getattr(module, part, None)
            if isinstance(weight, nn.Parameter) and weight.dim() == 3:
                raise StepFailure.of(quantization.STACKED_INTEGERS, name=name)
