"""Weights of four bits a number as compressed-tensors packs them. Needs torch and nothing else."""

import torch
from torch import Tensor

BITS = 4
PER_WORD = 32 // BITS
ZERO = 1 << (BITS - 1)
"""What a stored zero is: numbers from -8 to 7 are kept as 0 to 15."""
LARGEST = ZERO - 1


def pack(numbers: Tensor) -> Tensor:
    """Return int8 numbers from -8 to 7, eight of a row in a word, the lowest bits first."""
    codes = (numbers.to(torch.int32) + ZERO).unflatten(-1, (-1, PER_WORD))
    return (codes << _shifts(numbers.device)).sum(-1).to(torch.int32)


def unpack(words: Tensor) -> Tensor:
    """Return the numbers of packed words as int8."""
    codes = (words.unsqueeze(-1) >> _shifts(words.device)) & (2 * ZERO - 1)
    return (codes - ZERO).to(torch.int8).flatten(-2)


def dequantize_integers(words: Tensor, scale: Tensor) -> Tensor:
    """Return a packed weight as float32; each scale is for an equal part of its row."""
    numbers = unpack(words).float()
    parts = numbers.unflatten(-1, (scale.shape[-1], -1))
    return (parts * scale.float().unsqueeze(-1)).flatten(-2)


def _shifts(device: torch.device) -> Tensor:
    return torch.arange(0, 32, BITS, dtype=torch.int32, device=device)
