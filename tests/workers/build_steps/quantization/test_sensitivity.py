"""Layers that cost most for their weights stay in 16 bits, and no more of them than it takes."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from workers.build_steps.quantization.agreement import agreement_of
from workers.build_steps.quantization.sensitivity import Bar, Quantized, keep_sensitive

ERRORS = {"query": 0.3, "key": 0.3, "middle": 0.001, "last": 0.9}
SIZE = 8
ROWS = torch.randint(0, SIZE, (12, 6), generator=torch.Generator().manual_seed(1)).tolist()


class Layers(nn.Module):
    """Two layers read the same input; each adds its error while it is quantized."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.layers = nn.ModuleDict({name: nn.Linear(SIZE, SIZE) for name in ERRORS})
        self.quantized = dict.fromkeys(ERRORS, True)

    def compute(self, name: str, x: Tensor) -> Tensor:
        noise = torch.sin(7 * x.roll(1, -1)) * ERRORS[name] if self.quantized[name] else 0
        outcome: Tensor = self.layers[name](x) + noise
        return outcome

    def answer(self, row: Sequence[int]) -> Tensor:
        with torch.inference_mode():
            x = nn.functional.one_hot(torch.tensor(row), SIZE).float().mean(0)
            both = self.compute("query", x) + self.compute("key", x)
            return self.compute("last", self.compute("middle", both.tanh()))

    def switch(self, layer: nn.Module, is_quantized: bool) -> None:
        name = next(name for name, each in self.layers.items() if each is layer)
        self.quantized[name] = is_quantized


def keep(least_cosine: float, *, has_labels: bool = False, most_changed: float = 1.0):
    model = Layers()
    quantized = Quantized(
        layers=dict(model.layers.items()), switch=model.switch, answer=model.answer,
        has_labels=has_labels,
    )  # fmt: skip
    if has_labels:
        quantized = Quantized(
            layers=dict(model.layers.items()), switch=model.switch, has_labels=True,
            answer=lambda row: model.answer(row)[None, :3],
        )  # fmt: skip
    kept = keep_sensitive(
        quantized, ROWS, Bar(least_cosine=least_cosine, most_changed=most_changed)
    )
    return kept, model


def test_nothing_is_kept_where_all_in_few_bits_is_near_enough() -> None:
    kept, model = keep(-9.0)
    assert (kept.layers, kept.of_layers, kept.before) == ([], 4, kept.after)
    assert all(model.quantized.values())


def test_the_worst_layer_is_kept_first_and_stays_switched_off() -> None:
    kept, model = keep(0.3)
    assert kept.layers == ["last"]
    assert model.quantized == {"query": True, "key": True, "middle": True, "last": False}
    assert kept.before.least_cosine < 0.3 < 0.7 < kept.after.least_cosine
    assert kept.to_json()["is_met"]


def test_layers_of_one_input_are_kept_together() -> None:
    kept, _ = keep(0.999)
    assert kept.layers == ["key", "last", "query"]


def test_one_stays_quantized_where_nothing_is_near_enough_and_that_is_told() -> None:
    kept, model = keep(0.9999999999)
    assert kept.layers == ["key", "last", "query"]
    assert model.quantized["middle"]
    assert not kept.to_json()["is_met"]


def test_labels_are_judged_by_how_many_would_change() -> None:
    kept, _ = keep(0.0, has_labels=True, most_changed=0.02)
    assert "last" in kept.layers
    content = kept.to_json()
    assert content["as_built"]["changed"] <= 0.02 < content["all_quantized"]["changed"]
    assert "least_cosine" not in content["as_built"]


def test_of_one_score_the_order_of_pairs_is_judged() -> None:
    tensors = [torch.tensor([[score]]) for score in (0.0, 1.0, 2.0, 9.0)]
    assert agreement_of(tensors, tensors, has_labels=True).changed == 0
    near = [each + shift for each, shift in zip(tensors, (0.4, -0.4, 0.4, 0.0), strict=True)]
    far = [each + shift for each, shift in zip(tensors, (4.0, -4.0, 4.0, 0.0), strict=True)]
    few, many = (agreement_of(tensors, each, has_labels=True).changed for each in (near, far))
    assert few is not None
    assert many is not None
    assert 0.01 < few < 0.15 < many < 0.5
