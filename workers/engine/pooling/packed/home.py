"""The way of numbers to the device, and of outputs home."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

import torch
from torch import Tensor

from workers.engine.pooling.runner import Finish

Outputs: TypeAlias = Tensor | Sequence[Tensor]
"""Of several rows: one tensor where they have one shape, else one for each."""


class Home:
    """Copies through pinned memory that is kept: to pin some anew stops all that the GPU does."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._is_cuda = device.type == "cuda"
        self._free: list[Tensor] = []
        self._sent: list[Tensor] = []

    def send(self, numbers: Tensor) -> Tensor:
        """Give back the numbers on the device; the copy waits for nothing that was started."""
        if not self._is_cuda:
            return numbers.to(self._device)
        pinned = self._room(numbers.nbytes)
        self._sent.append(pinned)
        return _shown(pinned, numbers).copy_(numbers).to(self._device, non_blocking=True)

    def bring(self, parts: Sequence[Outputs], order: Sequence[int]) -> Finish:
        """Give back what waits for the outputs of rows, which were computed in this order."""
        wholes = [part for part in parts if isinstance(part, Tensor)]
        places = torch.tensor(order).argsort()
        if len(wholes) == len(parts):
            whole = wholes[0] if len(wholes) == 1 else torch.cat(wholes)
            return self._brought(whole.float(), lambda home: list(home[places]))
        rows = [row for part in parts for row in part]
        flat = torch.cat([row.float().reshape(-1) for row in rows])
        sizes, shapes = [row.numel() for row in rows], [row.shape for row in rows]

        def apart(home: Tensor) -> list[Tensor]:
            parts = home.clone().split(sizes)
            return [parts[at].view(shapes[at]) for at in places.tolist()]

        return self._brought(flat, apart)

    def _brought(self, output: Tensor, copied: "Copied") -> Finish:
        if not self._is_cuda:
            home = output.cpu()
            return lambda: copied(home)
        pinned = self._room(output.nbytes)
        home = _shown(pinned, output).copy_(output, non_blocking=True)
        used, self._sent = [pinned, *self._sent], []
        done = torch.cuda.Event()
        done.record()

        def finish() -> list[Tensor]:
            done.synchronize()
            copy = copied(home)
            self._free += used
            return copy

        return finish

    def _room(self, size_bytes: int) -> Tensor:
        fits = [each for each in self._free if each.numel() >= size_bytes]
        if not fits:
            return _pinned(1 << max(0, size_bytes - 1).bit_length())
        buffer = min(fits, key=Tensor.numel)
        self._free = [each for each in self._free if each is not buffer]
        return buffer


Copied = Callable[[Tensor], list[Tensor]]
"""Rows of their own from pinned memory, which the next forward writes over."""


def _shown(pinned: Tensor, like: Tensor) -> Tensor:
    return pinned[: like.nbytes].view(like.dtype).view(like.shape)


def _pinned(size_bytes: int) -> Tensor:
    return torch.empty(size_bytes, dtype=torch.uint8, pin_memory=True)
