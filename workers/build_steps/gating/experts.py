"""Experts that lie in two tensors of one module: their inputs are rounded inside of it."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from torch import nn
from torch.overrides import TorchFunctionMode

from workers.engine.quantized import PlainCheckpoint
from workers.engine.rounding import FixedRounding, Rounding


def emulate_experts(model: nn.Module, plain: PlainCheckpoint) -> PlainCheckpoint:
    """Let fused experts round their inputs; return the checkpoint with the roundings left over."""
    modules = dict(model.named_modules())
    fused: dict[str, dict[str, list[Rounding]]] = defaultdict(lambda: defaultdict(list))
    left = {}
    for name, rounding in plain.roundings.items():
        owner, _, projection = name.rpartition(".")
        module = owner.rpartition(".")[0]
        if name not in modules and hasattr(modules.get(module), "gate_up_proj"):
            fused[module][projection].append(rounding)
        else:
            left[name] = rounding
    for module, by_projection in fused.items():
        _round_within(modules[module], by_projection)
    return replace(plain, roundings=left)


def _round_within(experts: nn.Module, by_projection: Mapping[str, list[Rounding]]) -> None:
    """Round inside a module that calls `linear` for each of its experts."""
    into = next((each for name, each in by_projection.items() if not _is_output(name)), [])
    out = next((each for name, each in by_projection.items() if _is_output(name)), [])
    mode = _RoundedProducts(experts, _widest(into), _widest(out))
    forward = experts.forward

    def rounded(*inputs: Any, **named: Any) -> Any:
        with mode:
            return forward(*inputs, **named)

    experts.forward = rounded


def _is_output(projection: str) -> bool:
    return projection in ("down_proj", "w2")


def _widest(roundings: list[Rounding]) -> Rounding | None:
    """Return the rounding of the largest scale: engines share one among a layer's experts."""
    fixed = [each for each in roundings if isinstance(each, FixedRounding)]
    if not fixed:
        return next(iter(roundings), None)
    return max(fixed, key=lambda each: float(each.scale))


class _RoundedProducts(TorchFunctionMode):  # type: ignore[misc]
    """While entered, `linear` with an expert's weight rounds its input first."""

    def __init__(self, experts: Any, into: Rounding | None, out: Rounding | None) -> None:
        super().__init__()
        self._by_shape = {
            experts.gate_up_proj.shape[1:]: into,
            experts.down_proj.shape[1:]: out,
        }

    def __torch_function__(
        self, function: Any, types: Any, inputs: Any = (), named: Any = None
    ) -> Any:
        if function is nn.functional.linear:
            rounding = self._by_shape.get(inputs[1].shape)
            if rounding is not None:
                inputs = (rounding(inputs[0]), *inputs[1:])
        return function(*inputs, **(named or {}))
