"""The original and the exported files, of which only one is in memory at a time."""

import gc
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import nn

from controlplane.domain.spec.choices import RerankTemplate
from workers.build_steps.gating import encoding, generation
from workers.build_steps.gating.as_served import load_as_served
from workers.build_steps.gating.heads import find_heads
from workers.build_steps.gating.tasks.doing import Doing
from workers.build_steps.gating.tasks.results import Figures, TaskResult, compare
from workers.build_steps.quantization.checkpoint import Checkpoint
from workers.build_steps.quantization.loading import Device, load_model


@dataclass(frozen=True, kw_only=True)
class Models:
    original: Checkpoint
    exported: Path
    device: Device
    dtype: torch.dtype
    rerank_template: RerankTemplate | None = None

    def load_original(self) -> nn.Module:
        return load_model(self.original, device=self.device, dtype=self.dtype)

    def load_exported(self) -> nn.Module:
        gc.collect()  # the original, which holds references to itself
        return load_as_served(self.original, self.exported, device=self.device, dtype=self.dtype)


def compare_generators(
    models: Models, samples: Sequence[Sequence[int]], step: Callable[[], None], doing: Doing
) -> tuple[generation.GenerationResult, Sequence[TaskResult]]:
    readings, before = _read_original(models, samples, step, doing)
    model = models.load_exported()
    result = generation.compare(model, samples, readings, step)
    after = doing.do(model)
    done = [
        compare(each.name, each.settings, before[each.name], after[each.name])
        for each in doing.tasks
    ]
    return result, done


def compare_encoders(
    models: Models, samples: Sequence[Sequence[int]], step: Callable[[], None]
) -> encoding.EncoderResult:
    heads = find_heads(models.original, models.device, models.dtype, models.rerank_template)
    before = encoding.read_answers(models.load_original(), samples, "original", step, heads=heads)
    after = encoding.read_answers(models.load_exported(), samples, "quantized", step, heads=heads)
    return encoding.compare(before, after)


def _read_original(
    models: Models, samples: Sequence[Sequence[int]], step: Callable[[], None], doing: Doing
) -> tuple[list[generation.Reading], Mapping[str, Figures]]:
    # A function of its own: with its end the original is out of memory.
    model = models.load_original()
    return generation.read_original(model, samples, step), doing.do(model)
