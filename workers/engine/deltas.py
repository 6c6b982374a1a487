"""Adds the adapters' shares to the model's products, each row its own, in one forward."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from workers.engine.adapters import Adapter, stacked


class AdapterDeltas:
    """Keeps A and B of all adapters stacked and padded to the largest rank."""

    def __init__(self, model: nn.Module, adapters: Sequence[Adapter], device: torch.device) -> None:
        self._device = device
        self._index = {adapter.name: index for index, adapter in enumerate(adapters)}
        # Rows that feed equally many tokens: places in the step [rows, count], adapters [rows].
        self._groups: list[tuple[Tensor, Tensor]] = []
        self.bytes = 0
        for name in sorted({module for adapter in adapters for module in adapter.pairs}):
            module = model.get_submodule(name)
            dtype: Any = module.weight.dtype
            a, b = (part.to(device, dtype) for part in stacked(list(adapters), name))
            self.bytes += a.nbytes + b.nbytes
            module.register_forward_hook(self._adder(a, b))

    def begin(self, rows: Sequence[tuple[int, str | None]]) -> None:
        """Take note of a step's rows: how many tokens each feeds, and which adapter it uses."""
        groups: dict[int, list[tuple[int, int]]] = defaultdict(list)
        first = 0
        for count, adapter in rows:
            if adapter is not None:
                groups[count].append((first, self._index[adapter]))
            first += count
        self._groups = []
        for count, members in groups.items():
            firsts, indices = torch.tensor(members, device=self._device).unbind(1)
            places = firsts[:, None] + torch.arange(count, device=self._device)
            self._groups.append((places, indices))

    def _adder(self, a: Tensor, b: Tensor) -> Callable[[nn.Module, Any, Tensor], None]:
        def add(_module: nn.Module, inputs: Any, output: Tensor) -> None:
            for places, indices in self._groups:
                x = inputs[0][0][places]  # [rows, count, in]
                delta = (x @ a[indices]) @ b[indices]
                output[0].index_add_(0, places.flatten(), delta.flatten(0, 1))

        return add
