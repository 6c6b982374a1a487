"""Packed integers in the native engine, against ModelOpt's own simulation of them."""

import json
import shutil
import warnings
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM

from controlplane.domain.facts.quantization import INT4_AWQ, INT4_AWQ_FP8
from controlplane.domain.spec.choices import QuantizationType
from tests.tiny_checkpoint import write_tokenizer
from tests.workers.engine.quantized_folders import (
    ROW,
    change_json,
    change_tensors,
    engine_logits,
    make_original,
)
from workers.build_steps.quantization.modelopt import export_hf_checkpoint, presets, quantize
from workers.build_steps.quantization.packed_declaration import declaration
from workers.build_steps.quantization.packing import write_packed
from workers.build_steps.quantization.recipes import RECIPES, modelopt_config
from workers.build_steps.quantization.smoothing import move_smoothing
from workers.engine.errors import CheckpointRefused
from workers.engine.loader import find_model_class
from workers.engine.rounding import round_rows_to_fp8

pytestmark = [pytest.mark.engine, pytest.mark.filterwarnings("ignore")]
GROUP = 32
UP = "model.layers.0.mlp.up_proj"


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_original(tmp_path_factory.mktemp("llama") / "original")


@pytest.fixture(scope="module", params=[INT4_AWQ, INT4_AWQ_FP8], ids=["int4_awq", "w4a8_awq"])
def made(
    request: pytest.FixtureRequest, original: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, Any]:
    """A folder of packed integers in float32, and ModelOpt's simulation of the same."""
    number, simulated = request.param, _calibrated(original)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        folder = tmp_path_factory.mktemp("packed") / "packed"
        export_hf_checkpoint(_calibrated(original), dtype=torch.float32, export_dir=folder)
    write_packed(folder, number.modelopt_name, torch.float32)
    write_tokenizer(folder)
    if number is INT4_AWQ_FP8:
        _round_inputs(simulated)
    return folder, simulated


def _calibrated(original: Path) -> Any:
    model = AutoModelForCausalLM.from_pretrained(original, dtype=torch.float32)
    config = modelopt_config(
        RECIPES[QuantizationType.INT4_AWQ], presets, has_kv_cache=True, is_encoder=False
    ).with_group(GROUP)
    with torch.inference_mode():
        outcome = quantize(model, config.config, lambda each: each(torch.tensor([ROW])))
    move_smoothing(outcome, ROW[:16], torch.float32)
    return outcome


def _round_inputs(model: Any) -> None:
    for module in model.modules():
        quantizer = getattr(module, "weight_quantizer", None)
        if quantizer is not None and quantizer.is_enabled:
            module.register_forward_pre_hook(
                lambda _, inputs: (round_rows_to_fp8(inputs[0]), *inputs[1:])
            )


@torch.inference_mode()
def test_an_artifact_of_packed_integers_answers_as_the_gate_measured_it(
    made: tuple[Path, Any],
) -> None:
    folder, simulated = made
    target = simulated.eval()(torch.tensor([ROW]), use_cache=False).logits[0, 7:]
    assert torch.allclose(engine_logits(folder), target, atol=2e-4)


def _refusal(folder: Path) -> str:
    with pytest.raises(CheckpointRefused) as raised:
        engine_logits(folder)
    return str(raised.value)


@pytest.fixture
def folder(made: tuple[Path, Any], tmp_path: Path) -> Path:
    """A copy of it, to be harmed."""
    return shutil.copytree(made[0], tmp_path / "packed")


def _weights(**changes: Any) -> Any:
    def change(config: dict[str, Any]) -> None:
        block = config["quantization_config"]
        block["config_groups"]["group_0"]["weights"] |= changes

    return change


@pytest.mark.parametrize(
    "changes", [{"symmetric": False}, {"actorder": "group"}, {"num_bits": 8}, {"type": "float"}]
)
def test_other_integers_are_refused(changes: dict[str, Any], folder: Path) -> None:
    change_json(folder / "config.json", _weights(**changes))
    assert "does not read" in _refusal(folder)


def test_a_scale_that_does_not_fit_is_refused_by_name(folder: Path) -> None:
    change_tensors(folder, lambda each: each.update(
        {f"{UP}.weight_scale": each[f"{UP}.weight_scale"][:, :1].repeat(1, 3).contiguous()}
    ))  # fmt: skip
    assert f"`{UP}.weight_scale`" in _refusal(folder)


def test_a_layer_without_scales_is_refused_by_name(folder: Path) -> None:
    change_tensors(folder, lambda each: each.pop(f"{UP}.weight_scale"))
    assert f"`{UP}` is quantized and has no `weight_scale`" in _refusal(folder)


def test_a_shape_that_is_anothers_is_refused(folder: Path) -> None:
    change_tensors(folder, lambda each: each.update(
        {f"{UP}.weight_shape": torch.tensor([1, 2])}
    ))  # fmt: skip
    assert f"`{UP}.weight_shape`" in _refusal(folder)


def test_the_declaration_of_each_type_is_read_back_as_it(folder: Path) -> None:
    from workers.build_steps.quantization.packed_declaration import algorithm_of

    assert find_model_class(folder).__name__ == "LlamaForCausalLM"
    for number in (INT4_AWQ, INT4_AWQ_FP8):
        name = str(number.modelopt_name)
        block = json.loads(json.dumps(declaration(name, GROUP, ["lm_head"])))
        assert algorithm_of(block) == name
