"""Emulated numbers against ModelOpt's own: its tensors, its rounding, its whole models."""

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from safetensors.torch import load_file
from torch import nn

from controlplane.domain.facts.quantization import FP8
from tests.tiny_checkpoint import VOCABULARY
from tests.tiny_families import FAMILIES, make_family
from workers.build_steps.gating.as_served import load_as_served
from workers.build_steps.quantization.checkpoint import Checkpoint, open_checkpoint
from workers.build_steps.quantization.loading import Device
from workers.build_steps.quantization.modelopt import export_hf_checkpoint, presets, quantize
from workers.build_steps.quantization.recipes import Recipe, modelopt_config
from workers.engine.quantized import (
    BrokenQuantization,
    PlainCheckpoint,
    dequantize,
    dequantize_nvfp4,
    emulate_inputs,
)
from workers.engine.rounding import FixedRounding, round_to_fp8, round_to_nvfp4

pytestmark = pytest.mark.engine
CPU = Device(kind="cpu", threads=1)


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # ModelOpt's, of which it has many
        yield


def random(*shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(1))


def test_nvfp4_weights_come_back_as_modelopt_unpacks_them() -> None:
    from modelopt.torch.quantization.qtensor.nvfp4_tensor import NVFP4QTensor

    packed, scale, global_scale = NVFP4QTensor.quantize(random(8, 64), 16)
    theirs = packed.dequantize(
        torch.float32, scale=scale, double_scale=global_scale, block_sizes={-1: 16}
    )
    ours = dequantize_nvfp4(packed._quantized_data, scale, global_scale)
    assert torch.equal(ours, theirs)


def test_inputs_are_rounded_to_nvfp4_as_modelopt_rounds_them() -> None:
    from modelopt.torch.quantization.qtensor.nvfp4_tensor import NVFP4QTensor

    values, global_scale = random(4, 64) * 3, torch.tensor(0.002)
    packed, scale, _ = NVFP4QTensor.quantize(
        values.clone(), 16, weights_scaling_factor_2=global_scale
    )
    theirs = packed.dequantize(
        torch.float32, scale=scale, double_scale=global_scale, block_sizes={-1: 16}
    )
    assert torch.equal(round_to_nvfp4(values, global_scale), theirs)


def test_ties_of_four_bit_numbers_go_to_the_even_one() -> None:
    ties = torch.tensor([0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0, 6.0] * 2)
    rounded = round_to_nvfp4(ties, torch.tensor(1.0))
    assert rounded[:8].tolist() == [0.0, 1.0, 1.0, 2.0, 2.0, 4.0, 4.0, 6.0]
    assert torch.equal(round_to_nvfp4(-ties, torch.tensor(1.0)), -rounded)


def test_fp8_is_rounded_as_modelopt_rounds_it_and_never_overflows() -> None:
    from modelopt.torch.quantization.tensor_quant import fp8_eager

    values = random(64, 64) * 5
    amax = values.abs().amax() / 2  # half of the numbers' range is beyond the scale
    assert torch.equal(round_to_fp8(values, amax / 448), fp8_eager(values, amax))


def test_a_weight_without_its_scale_is_named() -> None:
    tensors = {"layer.weight": random(4, 4).to(torch.float8_e4m3fn)}
    with pytest.raises(BrokenQuantization, match=r"layer\.weight.*weight_scale"):
        dequantize(tensors, torch.float32)


@pytest.mark.parametrize("family", ["llama", "qwen2", "gemma", "bert_classifier"])
def test_an_exported_model_answers_as_modelopts_own_simulation(family: str, tmp_path: Path) -> None:
    folder = make_family(family, tmp_path / "original")
    checkpoint = open_checkpoint(folder, served_as_encoder=False)
    rows = torch.randint(3, VOCABULARY, (4, 48), generator=torch.Generator().manual_seed(2))
    export_hf_checkpoint(
        quantized(checkpoint, rows), dtype=torch.float32, export_dir=tmp_path / "exported"
    )
    simulated = quantized(checkpoint, rows)
    take_over_scales(simulated, tmp_path / "exported")
    theirs = answer(simulated, rows)
    served = load_as_served(checkpoint, tmp_path / "exported", device=CPU, dtype=torch.float32)
    plain = answer(with_odd_weights(checkpoint), rows)
    is_alike = apart(answer(served, rows), theirs) < 0.01 * apart(plain, theirs)
    # A processor's last bit may decide the rounding of one input, and so what follows on it; what
    # is wrong with a scale shows everywhere.
    assert float(is_alike.float().mean()) >= 0.9


def apart(ours: torch.Tensor, theirs: torch.Tensor) -> torch.Tensor:
    """Return how far the answers are apart at each position: `[rows × positions]`."""
    return (ours - theirs).norm(dim=-1).flatten()


def with_odd_weights(checkpoint: Checkpoint) -> nn.Module:
    """Load numbers that lie on no tie of the grid, where a last bit would decide a whole step."""
    model: nn.Module = checkpoint.model_class.from_pretrained(
        checkpoint.folder, dtype=torch.float32
    )
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(1 + 0.01 * torch.rand(parameter.shape, generator=generator))
    return model


def quantized(checkpoint: Checkpoint, rows: torch.Tensor) -> nn.Module:
    model = with_odd_weights(checkpoint)
    config = modelopt_config(
        Recipe(number=FP8, kv_cache=True),
        presets,
        has_kv_cache=checkpoint.has_kv_cache,
        is_encoder=checkpoint.is_encoder,
    )
    outcome: nn.Module = quantize(
        model, config.config, lambda each: [each(row[None]) for row in rows]
    )
    return outcome


def take_over_scales(model: nn.Module, exported: Path) -> None:
    """Let layers that an engine fuses share their weights' scale, as the export has it."""
    tensors = load_file(exported / "model.safetensors")
    for name, module in model.named_modules():
        scale = tensors.get(f"{name}.weight_scale")
        if scale is not None and hasattr(module, "weight_quantizer"):
            module.weight_quantizer.amax = scale * 448


def answer(model: nn.Module, rows: torch.Tensor) -> Any:
    with torch.inference_mode():
        return model.eval()(rows, attention_mask=torch.ones_like(rows))[0].float()


def test_a_scale_that_finds_no_module_is_told() -> None:
    rounding = FixedRounding(scale=torch.tensor(1.0), is_fp4=False)
    plain = PlainCheckpoint(weights={}, roundings={"nowhere": rounding})
    assert emulate_inputs(nn.Sequential(nn.Linear(2, 2)), plain) == ["nowhere"]


def test_every_family_is_one_that_transformers_has() -> None:
    assert all(hasattr(transformers, each.model_class) for each in FAMILIES.values())
