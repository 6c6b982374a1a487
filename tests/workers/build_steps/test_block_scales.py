"""FP8 in blocks as builds make it: DeepSeek's form, and what the gate finds in it."""

from pathlib import Path
from typing import Any

import pytest
import torch

from tests.tiny_families import make_family
from tests.workers.build_steps.gated import Quantized
from tests.workers.build_steps.quantizing import (
    change_export,
    quantized_spec,
    read_json,
    refused,
    tensors_of,
)
from workers.build_steps.failures import StepFailure
from workers.engine.quantized import dequantize_blocks

pytestmark = [pytest.mark.engine, pytest.mark.filterwarnings("ignore")]
WIDE = {"hidden_size": 256, "intermediate_size": 384, "head_dim": 64}
UP = "model.layers.1.mlp.up_proj"
KEYS = "model.layers.0.self_attn.k_proj"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Quantized:
    root = tmp_path_factory.mktemp("blocks")
    return Quantized("llama", "fp8_block", root, original=make_family("llama", root / "o", **WIDE))


@pytest.fixture
def copied(made: Quantized, tmp_path: Path) -> Quantized:
    return made.copied(tmp_path / "copied")


def test_an_export_has_the_form_of_deepseeks_own_checkpoints(made: Quantized) -> None:
    tensors = tensors_of(made.model)
    assert read_json(made.model / "config.json")["quantization_config"] == {
        "quant_method": "fp8",
        "fmt": "e4m3",
        "activation_scheme": "dynamic",
        "weight_block_size": [128, 128],
        "modules_to_not_convert": ["lm_head", "model.embed_tokens"],
    }
    assert not (made.model / "hf_quant_config.json").exists()
    assert tensors[f"{UP}.weight"].dtype is torch.float8_e4m3fn
    assert tensors[f"{UP}.weight_scale_inv"].shape == (3, 2)
    assert tensors[f"{KEYS}.weight_scale_inv"].shape == (1, 2)
    assert tensors[f"{UP}.weight_scale_inv"].dtype is torch.float32
    assert not any(name.endswith(("weight_scale", "input_scale")) for name in tensors)


def test_the_gate_measures_it(made: Quantized) -> None:
    values = made.gate()
    assert values["weights"] == {"quantized": 14, "compared": 14, "not_compared": {}}
    assert 0 < values["figures"]["logit_drift_nats"] < 0.01
    assert (values["runs_here"], values["note"]) == (True, None)


def test_no_sample_is_run_where_no_scale_comes_from_one(made: Quantized) -> None:
    assert made.values["quant_algo"] == "FP8_BLOCK_SCALES"
    assert made.values["calibration"]["used"] == 0
    assert made.values["samples"] == []
    assert made.values["calibration"]["held_out"] > 0


def test_experts_are_blocks_of_their_own_and_compared_with_the_stacked_tensor(
    tmp_path: Path,
) -> None:
    changes = {"hidden_size": 128, "moe_intermediate_size": 128, "head_dim": 64}
    original = make_family("moe", tmp_path / "original", **changes)
    quantized = Quantized("moe", "fp8_block", tmp_path / "made", original=original)
    tensors = tensors_of(quantized.model)
    assert tensors["model.layers.0.mlp.experts.0.up_proj.weight_scale_inv"].shape == (1, 1)
    values = quantized.gate()
    assert values["weights"]["compared"] == values["weights"]["quantized"] > 14
    assert values["figures"]["logit_drift_nats"] > 0


def test_inputs_that_no_block_divides_are_refused_by_name(tmp_path: Path) -> None:
    folder = make_family("llama", tmp_path / "odd", hidden_size=192, head_dim=48)
    failure = refused(folder, tmp_path, quantized_spec(folder, "fp8_block"))
    assert failure.code == "EHQ-BLOCKS"
    assert "FP8 works in blocks of 128" in failure.sentence
    assert "q_proj" in failure.sentence


def test_rows_that_fill_no_block_are_one_block_less(tmp_path: Path) -> None:
    original = make_family("llama", tmp_path / "o", **{**WIDE, "intermediate_size": 256},
                           num_key_value_heads=1)  # fmt: skip
    quantized = Quantized("llama", "fp8_block", tmp_path / "made", original=original)
    tensors = tensors_of(quantized.model)
    assert tensors[f"{KEYS}.weight"].shape == (64, 256)
    assert tensors[f"{KEYS}.weight_scale_inv"].shape == (1, 2)
    assert quantized.gate()["weights"]["compared"] == 14


def _gate_failure(quantized: Quantized) -> Any:
    with pytest.raises(StepFailure) as raised:
        quantized.gate()
    return raised.value.failure


@pytest.mark.parametrize(
    ("name", "change", "code"),
    [
        ("weight_scale_inv", lambda each: None, "EHG-SCALE-MISSING"),
        ("weight_scale_inv", lambda each: each * torch.nan, "EHG-SCALE-BROKEN"),
        ("weight_scale_inv", lambda each: each[:1].contiguous(), "EHG-SCALE-BROKEN"),
        ("weight_scale_inv", lambda each: each.flip(0), "EHG-SCALE-FOREIGN"),
        ("weight", lambda each: each.view(torch.uint8).flip(0).view(each.dtype),
         "EHG-WEIGHT-FOREIGN"),
    ],
)  # fmt: skip
def test_what_is_not_the_originals_is_found_by_name(
    name: str, change: Any, code: str, copied: Quantized
) -> None:
    tensor = f"{UP}.{name}"
    change_export(copied.model, {tensor: change(tensors_of(copied.model)[tensor])})
    failure = _gate_failure(copied)
    assert failure.code == code
    assert UP in failure.sentence


def test_a_block_and_its_scale_are_multiplied() -> None:
    weight = torch.ones(130, 256).to(torch.float8_e4m3fn)
    plain = dequantize_blocks(weight, torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
    assert plain[0, [0, 127, 128]].tolist() == [1.0, 1.0, 2.0]
    assert plain[[127, 128], 255].tolist() == [2.0, 4.0]
