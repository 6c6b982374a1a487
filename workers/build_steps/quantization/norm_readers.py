"""Who reads what the norms of a model put out, seen in one pass over a sample."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from workers.build_steps.quantization.forward import run_batch


def readers_of_norms(
    model: nn.Module, sample: Sequence[int], is_reader: Callable[[nn.Module], bool]
) -> list[tuple[nn.Module, list[Any]]]:
    """Return the norms whose output goes into such readers and nowhere else, and these."""
    watch = _Watch()
    with ExitStack() as stack:
        for module in model.modules():
            if is_reader(module):
                stack.enter_context(_watched(module, watch.enter, watch.leave))
            elif "norm" in type(module).__name__.lower() and hasattr(module, "weight"):
                stack.enter_context(_watched(module, watch.enter_norm, watch.leave_norm))
        with watch:
            run_batch(model, [list(sample)])
    return [
        (norm, watch.readers[key])
        for key, (norm, _) in watch.outputs.items()
        if watch.readers[key] and key not in watch.read_elsewhere
    ]


@contextmanager
def _watched(
    module: nn.Module, before: Callable[..., None], after: Callable[..., None]
) -> Iterator[None]:
    handles = (
        module.register_forward_pre_hook(before),
        module.register_forward_hook(after, always_call=True),
    )
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


@dataclass
class _Reads:
    outputs: dict[int, tuple[nn.Module, Tensor]] = field(default_factory=dict)
    """Identity of a norm's output -> the norm, and the output, so that none other gets it."""
    readers: dict[int, list[Any]] = field(default_factory=lambda: defaultdict(list))
    read_elsewhere: set[int] = field(default_factory=set)


class _Watch(TorchFunctionMode, _Reads):  # type: ignore[misc]
    """While entered, notes who reads what norms put out."""

    def __init__(self) -> None:
        TorchFunctionMode.__init__(self)
        _Reads.__init__(self)
        self._within = 0
        self._calls: dict[nn.Module, int] = defaultdict(int)

    def __torch_function__(
        self, function: Any, types: Any, inputs: Any = (), named: Any = None
    ) -> Any:
        result = function(*inputs, **(named or {}))
        if not self._within and not _tells_form(result):
            for each in (*inputs, *(named or {}).values()):
                self._note_other(each)
        return result

    def _note_other(self, value: Any) -> None:
        for each in value if isinstance(value, list | tuple) else (value,):
            if id(each) in self.outputs:
                self.read_elsewhere.add(id(each))

    def enter(self, module: nn.Module, inputs: tuple[Any, ...]) -> None:
        if self._within == 0 and inputs and id(inputs[0]) in self.outputs:
            self.readers[id(inputs[0])].append(module)
        self._within += 1

    def leave(self, module: nn.Module, inputs: Any, output: Any) -> None:
        self._within -= 1

    def enter_norm(self, module: nn.Module, inputs: tuple[Any, ...]) -> None:
        if inputs and not self._within:
            self._note_other(inputs[0])
        self._within += 1

    def leave_norm(self, module: nn.Module, inputs: Any, output: Any) -> None:
        self._within -= 1
        self._calls[module] += 1
        if isinstance(output, Tensor):
            self.outputs[id(output)] = (module, output)
            if self._calls[module] > 1:  # a norm of several layers: one factor is not all's
                self.read_elsewhere |= {
                    key for key, (norm, _) in self.outputs.items() if norm is module
                }


def _tells_form(result: Any) -> bool:
    """Return whether a call gave a shape, a type or a device, and no numbers of a tensor."""
    return isinstance(result, torch.Size | torch.dtype | torch.device | int | bool)
