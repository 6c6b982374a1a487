"""Runs a model over packed rows: one line through the body, tables of it through the head."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from workers.engine.pooling.heads import Batch, SentenceHead
from workers.engine.pooling.loader import POSITIONS_AFTER_PADDING, LoadedEncoder
from workers.engine.pooling.packed.add_norm import fuse_residual_norms
from workers.engine.pooling.packed.attention import Packing, is_flash
from workers.engine.pooling.packed.batch import Line, as_table, line_up, places, tables
from workers.engine.pooling.packed.body import Inputs, PackedBody, packs
from workers.engine.pooling.packed.graphs import Graphs
from workers.engine.pooling.packed.home import Home, Outputs
from workers.engine.pooling.packed.joined import join_layers
from workers.engine.pooling.packed.norms import fuse_norms
from workers.engine.pooling.rows import Row
from workers.engine.pooling.runner import Finish

POOLED_TABLE_TOKENS = 16384
TABLE_TOKENS = 2048
"""Of a table that a head reads, padding counted: fewer where it makes scores of each token."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Line:
    """A line of the host, and what of it lies on the device."""

    host: Line
    numbers: Tensor
    """Ids, positions, types, and places in a head's table; `[4, tokens]`."""
    starts: Tensor
    lengths: Tensor
    prompts: Tensor


def can_pack(model: LoadedEncoder) -> bool:
    """Whether its rows may lie one behind the other."""
    return packs(model.module.base_model, has_pooler=not isinstance(model.head, SentenceHead))


class PackedRunner:
    """Starts forwards of rows of any lengths; a GPU computes while the next are made ready."""

    pads = False

    def __init__(self, model: LoadedEncoder, device: torch.device, *, max_tokens: int) -> None:
        self._model = model
        self._device = device
        self._is_cuda = device.type == "cuda"
        join_layers(model.module.base_model)
        if self._is_cuda:
            fuse_norms(model.module.base_model)
            fuse_residual_norms(model.module.base_model, device)
        self._pools = isinstance(model.head, SentenceHead)
        self._body = PackedBody(model.module, has_pooler=not self._pools)
        config = model.module.config
        is_after = config.model_type in POSITIONS_AFTER_PADDING
        self._after_padding = config.pad_token_id if is_after else None
        self._table_tokens = POOLED_TABLE_TOKENS if self._pools else TABLE_TOKENS
        self._home = Home(device)
        self._graphs = self._recordable(max_tokens)

    @property
    def overlaps(self) -> bool:
        """Whether a forward goes on by itself once it is started."""
        return self._is_cuda

    @torch.inference_mode()  # type: ignore[untyped-decorator]
    def warm_up(self) -> None:
        """Do what only the first forward does."""
        self.start([Row(ids=[0])])()
        self.start([Row(ids=[0]), Row(ids=[0, 0])])()  # a table of many lengths has its own kernels
        if self._graphs:
            self._graphs.record()

    @torch.inference_mode()  # type: ignore[untyped-decorator]
    def start(self, rows: Sequence[Row]) -> Finish:
        """Start one forward for rows in any order."""
        order = sorted(range(len(rows)), key=lambda at: -len(rows[at]))
        line = self._line([rows[at] for at in order])
        return self._home.bring(self._pool(line, self._hidden(line)), order)

    def _recordable(self, max_tokens: int) -> Graphs | None:
        module = self._model.module
        size, heads = module.config.hidden_size, module.config.num_attention_heads
        head_dim = getattr(module.config, "head_dim", None) or size // heads
        if not is_flash(self._device, module.dtype, head_dim):
            return None
        return Graphs(self._body.compute, self._device, tokens=max_tokens)

    def _line(self, rows: Sequence[Row]) -> _Line:
        line = line_up(
            rows, has_types=self._model.has_types, after_padding=self._after_padding
        )  # fmt: skip
        spread = [places(line.lengths[part]) for part in self._tables(line)]
        of_rows = [line.starts, line.lengths, [row.prompt_tokens for row in rows]]
        flat = np.concatenate([line.ids, line.positions, line.types, *spread, *of_rows])
        # In one piece: each copy is a turn of Python's lock that others wait for too.
        sent = self._home.send(torch.from_numpy(flat))
        tokens, count = len(line.ids), len(rows)
        numbers, starts, lengths, prompts = sent.split([4 * tokens, count + 1, count, count])
        return _Line(
            host=line, numbers=numbers.view(4, tokens), starts=starts, lengths=lengths,
            prompts=prompts,
        )  # fmt: skip

    def _hidden(self, line: _Line) -> Tensor:
        numbers, lengths = line.numbers[:3], line.host.lengths
        if self._graphs:
            hidden = self._graphs.hidden(numbers, line.starts, lengths)
            if hidden is not None:
                return hidden
        ids, positions, types = (each[None] for each in numbers)
        packing = Packing(lengths=lengths, starts=line.starts.int(), longest=lengths[0])
        return self._body.compute(Inputs(ids=ids, positions=positions, types=types), packing)

    def _pool(self, line: _Line, hidden: Tensor) -> list[Outputs]:
        """Give back the rows' outputs: of several rows in one tensor, where they have one shape."""
        outputs: list[Outputs] = []
        first = 0
        for part in self._tables(line.host):
            lengths = line.host.lengths[part]
            here = slice(first, first := first + sum(lengths))
            ids, at = line.numbers[0, here], line.numbers[3, here]
            self._body.show(hidden[here], lengths, at)
            inputs = {"input_ids": as_table(ids, lengths, at, self._model.padding)}
            if not self._pools:  # by which some classes take their mean
                inputs["attention_mask"] = as_table(torch.ones_like(ids), lengths, at)
            batch = Batch(
                inputs=inputs, lengths=line.lengths[part], prompts=line.prompts[part],
            )  # fmt: skip
            outputs.append(self._model.head(self._model.module, batch))
        return outputs

    def _tables(self, line: Line) -> list[slice]:
        return list(tables(line.lengths, self._table_tokens))
