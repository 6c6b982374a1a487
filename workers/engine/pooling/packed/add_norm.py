"""A residual and the layer norm behind it by one kernel, where their classes take two."""

import logging
from collections.abc import Callable
from pathlib import Path
from types import MethodType
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import layer_norm

from workers.engine.pooling.packed.cuda_source import load_kernel

CLASSES = frozenset(
    f"{family}{part}"
    for family in ("Bert", "Camembert", "Electra", "Roberta", "XLMRoberta")
    for part in ("SelfOutput", "Output")
)
"""Of Transformers: a product, a residual and a norm, and nothing else once a model is trained."""

AddNorm = Callable[[Tensor, Tensor, nn.LayerNorm], Tensor]
_SOURCE = Path(__file__).with_name("add_norm.cu")
_THREADS, _MOST_PIECES = 128, 4
_NUMBERS_A_PIECE = 8

log = logging.getLogger(__name__)


def fuse_residual_norms(model: nn.Module, device: torch.device) -> int:
    """Let each such part add and norm at once; give back how many do."""
    try:
        add_norm: AddNorm = _Kernel(device)
    except Exception as error:  # torch finds the compiler by names that are its own
        log.warning("residuals and norms are computed by torch's kernels: %r", error)
        return 0
    return take_add_norm(model, add_norm)


def take_add_norm(model: nn.Module, add_norm: AddNorm) -> int:
    """The same by any function that adds and norms."""
    blocks: list[Any] = [each for each in model.modules() if type(each).__name__ in CLASSES]

    def forward(part: Any, hidden_states: Tensor, input_tensor: Tensor) -> Tensor:
        return add_norm(part.dense(hidden_states), input_tensor, part.LayerNorm)

    for each in blocks:
        each.forward = MethodType(forward, each)
    return len(blocks)


def add_norm_plainly(x: Tensor, residual: Tensor, norm: nn.LayerNorm) -> Tensor:
    """Give back the norm of the sum, which is not rounded in between."""
    total = x.float() + residual.float()
    weight, bias = norm.weight.float(), norm.bias.float()
    return layer_norm(total, norm.normalized_shape, weight, bias, norm.eps).to(x.dtype)


class _Kernel:
    def __init__(self, device: torch.device) -> None:
        self._add_norm = load_kernel(_SOURCE, "add_norm", device)
        self._prove(device)

    def __call__(self, x: Tensor, residual: Tensor, norm: nn.LayerNorm) -> Tensor:
        pieces, rest = divmod(x.shape[-1], _NUMBERS_A_PIECE)
        kinds = {x.dtype, residual.dtype, norm.weight.dtype, norm.bias.dtype}
        if rest or pieces > _MOST_PIECES * _THREADS or kinds != {torch.bfloat16}:
            return add_norm_plainly(x, residual, norm)
        x, residual = x.contiguous(), residual.contiguous()
        out = torch.empty_like(x)
        rows = x.numel() // x.shape[-1]
        args = [x, residual, norm.weight, norm.bias, float(norm.eps), out, pieces]
        self._add_norm(grid=(rows, 1, 1), block=(_THREADS, 1, 1), args=args)
        return out

    @torch.inference_mode()  # type: ignore[untyped-decorator]
    def _prove(self, device: torch.device) -> None:
        """Raises: AssertionError where it comes to something else than torch's own."""
        for size in (64, 1024, 1560):
            norm = nn.LayerNorm(size, device=device, dtype=torch.bfloat16)
            x = torch.linspace(-3, 5, 5 * size, device=device).reshape(5, size).bfloat16()
            actual, expected = (each(x, x.flip(1) ** 2, norm) for each in (self, add_norm_plainly))
            torch.testing.assert_close(actual, expected, rtol=0.01, atol=0.01)
