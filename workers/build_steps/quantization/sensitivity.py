"""Which layers of an encoder stay in 16 bits so that its answers stay what they were."""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn

from workers.build_steps.quantization.agreement import Agreement, agreement_of

ORDERED_BY_ROWS = 16
"""Rows by which layers are put in order; whether enough of them are kept, all rows say."""

AIMED_AT = 0.35
"""Share of the distance that is allowed: the worst of many texts lost twice as much as of these
(`benchmarks/encoders_fp8.py`)."""
AIMED_AT_CHANGES = 0.25
"""Share of the changes that are allowed: twice as many labels changed as few texts let expect."""

log = logging.getLogger(__name__)

Answer = Callable[[Sequence[int]], Tensor]
"""Gives a row's vector, or the scores of its labels."""
Switch = Callable[[nn.Module, bool], None]
"""Lets a layer compute in few bits, or in 16."""


@dataclass(frozen=True, kw_only=True)
class Bar:
    least_cosine: float
    most_changed: float
    """Share of labels, or of pairs in their order, that may become another."""

    def is_met_by(self, agreement: Agreement) -> bool:
        if agreement.changed is not None:
            return agreement.changed <= AIMED_AT_CHANGES * self.most_changed
        least = 1 - AIMED_AT * (1 - self.least_cosine)
        return agreement.least_cosine is None or agreement.least_cosine >= least


@dataclass(frozen=True, kw_only=True)
class Kept:
    layers: Sequence[str]
    of_layers: int
    rows: int
    bar: Bar
    before: Agreement
    after: Agreement

    def to_json(self) -> dict[str, Any]:
        return {
            "layers": list(self.layers),
            "of_layers": self.of_layers,
            "rows": self.rows,
            "least_cosine": self.bar.least_cosine,
            "most_changed": self.bar.most_changed,
            "is_met": self.bar.is_met_by(self.after),
            "all_quantized": self.before.to_json(),
            "as_built": self.after.to_json(),
        }


@dataclass(frozen=True, kw_only=True)
class Quantized:
    """A model whose layers are emulated in few bits, each of which can be switched."""

    layers: Mapping[str, nn.Module]
    switch: Switch
    answer: Answer
    has_labels: bool


def keep_sensitive(model: Quantized, rows: Sequence[Sequence[int]], bar: Bar) -> Kept:
    """Let the layers that cost most compute in 16 bits, as few as do, and return which.

    Layers that read one input go together, as engines multiply them together. Those come first
    whose error is largest for what their weights save.
    """
    trial = _Trial(model, rows)
    before = after = trial.agreement([])
    kept: Sequence[_Group] = ()
    if not bar.is_met_by(before):
        order = trial.most_sensitive_first()
        kept = order[: _fewest(order, lambda some: bar.is_met_by(trial.agreement(some)))]
        after = trial.agreement(kept)
    names = [name for group in kept for name in group.names]
    for name in names:
        model.switch(model.layers[name], False)
    log.info("%d of %d layers stay in 16 bits: %s", len(names), len(model.layers), names)
    return Kept(
        layers=sorted(names), of_layers=len(model.layers), rows=len(rows), bar=bar,
        before=before, after=after,
    )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class _Group:
    """Layers that read one input."""

    names: Sequence[str]
    weights: int


class _Trial:
    """A model's answers with any of its layers in 16 bits, beside those with all."""

    def __init__(self, model: Quantized, rows: Sequence[Sequence[int]]) -> None:
        self._model, self._rows = model, rows
        self._groups = _groups(model, rows[0])
        with self._in_16_bits(self._groups):
            self._wanted = [model.answer(each) for each in rows]

    def agreement(self, kept: Sequence[_Group]) -> Agreement:
        """Return how near the answers are with these in 16 bits and the others quantized."""
        return self._agreement(kept, len(self._rows))

    def most_sensitive_first(self) -> Sequence[_Group]:
        return sorted(self._groups, key=lambda each: -self._error_of(each) / each.weights)

    def _error_of(self, group: _Group) -> float:
        others = [each for each in self._groups if each is not group]
        return self._agreement(others, ORDERED_BY_ROWS).error

    def _agreement(self, kept: Sequence[_Group], rows: int) -> Agreement:
        with self._in_16_bits(kept):
            outputs = [self._model.answer(each) for each in self._rows[:rows]]
        return agreement_of(self._wanted[:rows], outputs, has_labels=self._model.has_labels)

    @contextmanager
    def _in_16_bits(self, groups: Sequence[_Group]) -> Iterator[None]:
        layers = [self._model.layers[name] for group in groups for name in group.names]
        for each in layers:
            self._model.switch(each, False)
        try:
            yield
        finally:
            for each in layers:
                self._model.switch(each, True)


def _fewest(order: Sequence[_Group], suffices: Callable[[Sequence[_Group]], bool]) -> int:
    """Return of how many the first suffice; where none do, all but one, and the gate judges."""
    low, high = min(1, len(order) - 1), len(order) - 1
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if suffices(order[:middle]) else (middle + 1, high)
    return high


def _groups(model: Quantized, row: Sequence[int]) -> Sequence[_Group]:
    inputs: dict[int, list[str]] = {}
    inputs_kept: list[Tensor] = []  # a freed input would lend its address to the next

    def watch(name: str) -> Callable[..., None]:
        def seen(_layer: nn.Module, given: tuple[Tensor, ...]) -> None:
            inputs_kept.append(given[0])
            inputs.setdefault(given[0].data_ptr(), []).append(name)

        return seen

    hooks = [
        each.register_forward_pre_hook(watch(name), prepend=True)
        for name, each in model.layers.items()
    ]
    try:
        model.answer(row)
    finally:
        for each in hooks:
            each.remove()
    return [
        _Group(names=names, weights=sum(_weights(model.layers[name]) for name in names))
        for names in inputs.values()
    ]


def _weights(layer: Any) -> int:
    weights: int = layer.weight.numel()
    return weights
