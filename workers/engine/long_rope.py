"""LongRoPE: two sets of rotary frequencies, of which each row uses one by its length."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

LONG_ROPE = "longrope"


class LongRope(nn.Module):
    """Stands in for Transformers' module, which gives all rows of a forward the same set."""

    def __init__(self, config: Any, device: str) -> None:
        super().__init__()
        self.border = int(config.rope_parameters["original_max_position_embeddings"])
        """Tokens up to which a row uses the short set."""
        start = ROPE_INIT_FUNCTIONS[LONG_ROPE]
        short, self._scaling = start(config, device, seq_len=self.border)
        long, _ = start(config, device, seq_len=self.border + 1)
        self._sets = torch.stack((short, long)).float()  # [2, half of the rotated numbers]
        self._chosen = torch.zeros(0, dtype=torch.long, device=device)

    def begin(self, rows: Sequence[tuple[int, bool]]) -> None:
        """Take note of a step's rows: how many tokens each feeds, and whether it is a long one."""
        chosen = [int(is_long) for count, is_long in rows for _ in range(count)]
        self._chosen = torch.tensor(chosen, device=self._sets.device)

    def forward(self, x: Tensor, position_ids: Tensor) -> tuple[Tensor, Tensor]:
        """Give back cosine and sine for each token. Shapes: `[1, tokens, rotated numbers]`."""
        angles = position_ids[..., None].float() * self._sets[self._chosen]
        angles = torch.cat((angles, angles), dim=-1)
        return (angles.cos() * self._scaling).to(x.dtype), (angles.sin() * self._scaling).to(
            x.dtype
        )


def take_over_rope(model: Any, device: str) -> LongRope | None:
    """Give back the module that now rotates the model, where its config asks for LongRoPE."""
    rope = getattr(model.config, "rope_parameters", None) or {}
    if rope.get("rope_type") != LONG_ROPE:
        return None
    model.model.rotary_emb = LongRope(model.config, device)
    return model.model.rotary_emb
