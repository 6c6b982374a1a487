"""A device that only knows shapes, and a mode that refuses what a GPU would refuse."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

DEVICE = torch.device("meta")
READS = ("aten::item", "aten::_local_scalar_dense", "aten::is_nonzero")
COPIES = ("aten::_to_copy", "aten::to.", "aten::copy_")


class NoMixing(TorchDispatchMode):
    """Lets no operation read from the host and the GPU at once, unless it copies between them.

    What is read back arrives as zeros: the GPU here holds no numbers.
    """

    def __torch_dispatch__(
        self,
        function: Any,
        types: Any,
        inputs: Sequence[Any] = (),
        named: Mapping[str, Any] | None = None,
    ) -> Any:
        named = dict(named or {})
        tensors = list(_tensors((inputs, named)))
        if function.name().startswith(COPIES):
            return _copied(function, inputs, named)
        if function.name() in READS and inputs[0].device == DEVICE:
            return inputs[0].dtype.is_floating_point and 0.0
        devices = {each.device for each in tensors}
        if len(devices) > 1:
            raise AssertionError(f"{function} was given tensors of {sorted(map(str, devices))}")
        return function(*inputs, **named)


def _copied(function: Any, inputs: Sequence[Any], named: Mapping[str, Any]) -> Any:
    target = next(
        (one for one in tree_leaves((inputs[1:], named)) if isinstance(one, torch.device)), None
    )
    if target is None or target == DEVICE or inputs[0].device != DEVICE:
        return function(*inputs, **named)
    return torch.zeros(inputs[0].shape, dtype=named.get("dtype", inputs[0].dtype))


def _tensors(values: Any) -> Iterator[Tensor]:
    """Every tensor but single numbers of the host, which any GPU takes."""
    for each in tree_leaves(values):
        if isinstance(each, Tensor) and (each.dim() or each.device == DEVICE):
            yield each
