"""Activation-aware scales move only where the model answers as before."""

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from torch import nn

from controlplane.domain.spec.choices import QuantizationType
from tests.tiny_families import FAMILIES, make_family
from workers.build_steps.quantization.modelopt import presets, quantize
from workers.build_steps.quantization.recipes import RECIPES, modelopt_config
from workers.build_steps.quantization.smoothing import move_smoothing

pytestmark = [pytest.mark.engine, pytest.mark.filterwarnings("ignore")]
ROW = list(range(3, 35))


def calibrated(family: str, folder: Path, change: Callable[[Any], None] = lambda _: None) -> Any:
    make_family(family, folder)
    model = getattr(transformers, FAMILIES[family].model_class).from_pretrained(
        folder, dtype=torch.float32
    )
    change(model)
    config = modelopt_config(
        RECIPES[QuantizationType.INT4_AWQ],
        presets,
        has_kv_cache=not family.startswith("bert"),
        is_encoder=family.startswith("bert"),
    ).with_group(32)
    with warnings.catch_warnings(), torch.inference_mode():
        warnings.simplefilter("ignore")
        return quantize(model.eval(), config.config, answers)


@torch.inference_mode()
def answers(model: Any) -> torch.Tensor:
    outcome: torch.Tensor = model(input_ids=torch.tensor([ROW]))[0]
    return outcome.clone()


def unrounded(model: nn.Module) -> nn.Module:
    for module in model.modules():
        quantizer: Any = getattr(module, "weight_quantizer", None)
        if quantizer is not None:
            quantizer.disable()
    return model


def left(model: nn.Module) -> list[str]:
    return [
        name
        for name, each in model.named_modules()
        if hasattr(getattr(each, "input_quantizer", None), "_pre_quant_scale")
    ]


@pytest.mark.parametrize(
    ("family", "kept", "left_out"),
    [("llama", 12, 2), ("qwen2", 12, 2), ("gemma", 12, 2), ("bert", 0, 12)],
)
def test_a_model_answers_as_before_and_no_layer_scales_its_input(
    family: str, kept: int, left_out: int, tmp_path: Path
) -> None:
    model = calibrated(family, tmp_path)
    before = answers(unrounded(model))
    assert left(model)
    report = move_smoothing(model, ROW, torch.float32)
    assert (report.kept, report.left_out) == (kept, left_out)
    assert left(model) == []
    assert torch.allclose(answers(unrounded(model)), before, atol=1e-4)


def test_a_norm_that_somebody_else_reads_is_left_alone(tmp_path: Path) -> None:
    """As the router beside the experts, which is not quantized."""

    def also_read(model: Any) -> None:
        layer = model.model.layers[0].mlp
        forward = layer.forward
        layer.forward = lambda hidden: forward(hidden) + 0.1 * torch.tanh(hidden)

    model = calibrated("llama", tmp_path, also_read)
    before = answers(unrounded(model))
    report = move_smoothing(model, ROW, torch.float32)
    # Its gate and its up projection, and the down projection of a layer that adds what it read.
    assert report.left_out > 2
    assert torch.allclose(answers(unrounded(model)), before, atol=1e-4)


def test_a_feed_forward_that_cannot_be_asked_alone_is_left_alone(tmp_path: Path) -> None:
    def asks_for_more(model: Any) -> None:
        layer = model.model.layers[0].mlp
        forward = layer.forward

        def whole_rows(hidden: torch.Tensor) -> Any:
            if hidden.shape[1] != len(ROW):
                raise ValueError("other positions than the mask has")
            return forward(hidden)

        layer.forward = whole_rows

    model = calibrated("llama", tmp_path, asks_for_more)
    before = answers(unrounded(model))
    assert move_smoothing(model, ROW, torch.float32).left_out == 3
    assert torch.allclose(answers(unrounded(model)), before, atol=1e-4)


def test_scales_are_numbers_of_the_type_that_they_are_stored_in(tmp_path: Path) -> None:
    model = calibrated("llama", tmp_path)
    move_smoothing(model, ROW, torch.bfloat16)
    scale = model.model.layers[0].mlp.up_proj.weight_quantizer.amax.float() / 7
    assert torch.allclose(scale, scale.to(torch.bfloat16).float(), rtol=1e-6)
