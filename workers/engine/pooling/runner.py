"""Runs Transformers' model code over a padded batch."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import torch
from torch import Tensor

from workers.engine.pooling.heads import Batch
from workers.engine.pooling.loader import LoadedEncoder
from workers.engine.pooling.rows import Row

Finish = Callable[[], list[Tensor]]
"""Waits for a forward that was started, and gives back one float32 tensor per row, on the host."""


class Runner(Protocol):
    """What a loop runs forwards by."""

    pads: bool
    """Whether rows are filled up to the longest."""

    @property
    def overlaps(self) -> bool:
        """Whether a forward goes on by itself once it is started."""

    def warm_up(self) -> None:
        """Do what only the first forward does."""

    def start(self, rows: Sequence[Row]) -> Finish:
        """Start one forward."""


class PaddedRunner:
    """One forward for rows of about the same length, for classes whose attention is their own."""

    pads, overlaps = True, False

    def __init__(self, model: LoadedEncoder, device: torch.device) -> None:
        self._model = model
        self._device = device

    def warm_up(self) -> None:
        """Do what only the first forward does."""
        self.start([Row(ids=[0])])()

    @torch.inference_mode()  # type: ignore[untyped-decorator]
    def start(self, rows: Sequence[Row]) -> Finish:
        outputs = self._model.head(self._model.module, self._pad(rows))
        if isinstance(outputs, Tensor):
            outputs = outputs.float().cpu()
        home = [output.float().cpu() for output in outputs]
        return lambda: home

    def _pad(self, rows: Sequence[Row]) -> Batch:
        lengths = torch.tensor([len(row) for row in rows])
        mask = torch.arange(int(lengths.max())) < lengths[:, None]
        inputs = {
            "input_ids": self._filled([row.ids for row in rows], mask, self._model.padding),
            "attention_mask": mask.long(),
        }
        if self._model.has_types and all(row.types is not None for row in rows):
            inputs["token_type_ids"] = self._filled([row.types for row in rows], mask, 0)
        return Batch(
            inputs={name: each.to(self._device) for name, each in inputs.items()},
            lengths=lengths.to(self._device),
            prompts=torch.tensor([row.prompt_tokens for row in rows]).to(self._device),
        )

    def _filled(self, values: Sequence[Any], mask: Tensor, padding: int) -> Tensor:
        filled = torch.full(mask.shape, padding)
        filled[mask] = torch.tensor([value for row in values for value in row])
        return filled
