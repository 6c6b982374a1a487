"""INT4 as builds make it: packed integers that are the original's, and what the gate finds."""

from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file

from controlplane.domain.facts.quantization import PRECISIONS
from controlplane.domain.passport import Passport
from controlplane.domain.spec.choices import QuantizationType
from tests.tiny_families import make_family
from tests.workers.build_steps.gated import TRAINED, Quantized
from tests.workers.build_steps.quantizing import (
    change_export,
    inspected,
    quantized_spec,
    read_json,
    refused,
    reseal,
    run_here,
    tensors_of,
)
from workers.build_steps.failures import StepFailure
from workers.build_steps.quantization.groups import choose_group
from workers.build_steps.quantization.modelopt import presets
from workers.build_steps.quantization.recipes import RECIPES, modelopt_config
from workers.build_steps.quantization.smoothing import SMOOTHING_FILE
from workers.engine.packed_integers import dequantize_integers, pack, unpack

pytestmark = [pytest.mark.engine, pytest.mark.filterwarnings("ignore")]
PACKED = {name: each for name, each in PRECISIONS.items() if each.weights.is_packed}
UP = "model.layers.1.mlp.up_proj"
WIDE = {"hidden_size": 128, "intermediate_size": 256, "head_dim": 32}
"""Every row divides into groups of 128, which is what W4A8 takes."""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Quantized:
    return Quantized(TRAINED, "int4_awq", tmp_path_factory.mktemp("int4"))


@pytest.fixture
def int4(made: Quantized, tmp_path: Path) -> Quantized:
    return made.copied(tmp_path / "copied")


def test_a_trained_model_in_int4_passes_the_gate_and_says_who_measured_it(
    made: Quantized,
) -> None:
    values = made.gate()
    assert (values["state"], values["failure"]) == ("passed", None)
    assert values["figures"]["logit_drift_nats"] > 0
    assert (values["runs_here"], values["note"]) == (True, None)
    assert values["measured_by"] == "emulation of the exported files"
    assert values["weights"] == {"quantized": 14, "compared": 14, "not_compared": {}}


def test_every_layer_but_head_and_embeddings_is_packed_and_config_json_says_so(
    made: Quantized,
) -> None:
    tensors = tensors_of(made.model)
    block = read_json(made.model / "config.json")["quantization_config"]
    weights = block["config_groups"]["group_0"]["weights"]
    assert (block["quant_method"], block["format"]) == ("compressed-tensors", "pack-quantized")
    assert (weights["num_bits"], weights["type"], weights["symmetric"]) == (4, "int", True)
    assert block["ignore"] == ["lm_head", "model.embed_tokens"]
    assert not (made.model / "hf_quant_config.json").exists()
    assert tensors[f"{UP}.weight_packed"].dtype is torch.int32
    assert tensors[f"{UP}.weight_packed"].shape == (128, 64 // 8)
    assert tensors[f"{UP}.weight_shape"].tolist() == [128, 64]
    assert tensors[f"{UP}.weight_scale"].shape == (128, 64 // weights["group_size"])
    assert not any("pre_quant" in name for name in tensors)


def test_what_awq_did_is_told_with_the_build(made: Quantized) -> None:
    assert made.values["quant_algo"] == "W4A16_AWQ"
    assert made.values["smoothed"] == {"kept": 12, "left_out": 2}


def test_the_passport_says_it_too_and_the_packed_files_are_what_is_published(
    made: Quantized, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    steps = {"fetch": made.fetch, "calibrate": made.calibrate}
    run_here("gate", made.spec, gate, **steps)
    store = {"artifact_url": (tmp_path / "artifacts").as_uri()}
    steps |= {"gate": gate, "inspect": inspected(tmp_path / "inspect")}
    values = run_here("package", made.spec, tmp_path / "package", store, **steps).values
    passport = read_json(tmp_path / "package" / "passport.json")
    assert passport["quantization"]["smoothed"] == {"kept": 12, "left_out": 2}
    record = Passport.model_validate(passport)
    assert record.calibration is not None
    assert record.quantization is not None
    assert record.quantization.smoothed is not None
    assert record.quantization.smoothed.kept == 12
    assert "model.safetensors" in {each["path"] for each in values["manifest"]}


def test_a_model_in_w4a8_is_packed_with_inputs_by_token(tmp_path: Path) -> None:
    original = make_family("llama", tmp_path / "wide", **WIDE)
    quantized = Quantized("llama", "w4a8_awq", tmp_path / "made", original=original)
    block = read_json(quantized.model / "config.json")["quantization_config"]
    group = block["config_groups"]["group_0"]
    assert group["weights"]["group_size"] == 128
    assert group["input_activations"] == {
        "num_bits": 8, "type": "float", "symmetric": True, "strategy": "token", "dynamic": True,
    }  # fmt: skip
    assert quantized.gate()["figures"]["logit_drift_nats"] > 0
    assert quantized.values["quant_algo"] == "W4A8_AWQ"


@pytest.mark.parametrize(
    "family", ["qwen2", "qwen3", "gemma", pytest.param("bert", marks=pytest.mark.long)]
)
def test_a_family_is_packed_and_compared(family: str, tmp_path: Path) -> None:
    quantized = Quantized(family, "int4_awq", tmp_path)
    values = quantized.gate()
    assert values["weights"]["compared"] == values["weights"]["quantized"] > 0
    assert values["figures"]


def test_widths_that_no_group_divides_are_refused_by_name(tmp_path: Path) -> None:
    folder = make_family("llama", tmp_path / "odd", hidden_size=72, head_dim=18)
    failure = refused(folder, tmp_path, quantized_spec(folder, "int4_awq"))
    assert failure.code == "EHQ-BLOCKS"
    assert "128 or 64 or 32" in failure.sentence
    assert "q_proj" in failure.sentence


def test_the_group_divides_what_each_gpu_gets(tmp_path: Path) -> None:
    folder = make_family("llama", tmp_path / "llama")
    layers = transformers.LlamaForCausalLM.from_pretrained(folder)
    config = modelopt_config(
        RECIPES[QuantizationType.INT4_AWQ], presets, has_kv_cache=True, is_encoder=False
    )
    assert choose_group(layers, config, (128, 64, 32), ranks=1) == 64
    assert choose_group(layers, config, (128, 64, 32), ranks=2) == 32
    with pytest.raises(StepFailure, match="cut for 4 GPUs"):
        choose_group(layers, config, (128, 64, 32), ranks=4)


def test_experts_are_refused_by_name_before_a_sample_is_read(tmp_path: Path) -> None:
    folder = make_family("moe", tmp_path / "moe")
    failure = refused(folder, tmp_path, quantized_spec(folder, "int4_awq"))
    assert failure.code == "EHQ-ARCHITECTURE"
    assert "model.layers.0.mlp.experts" in failure.sentence


def _gate_failure(quantized: Quantized) -> Any:
    with pytest.raises(StepFailure) as raised:
        quantized.gate()
    return raised.value.failure


@pytest.mark.parametrize("one_row", [True, False], ids=["one row", "all rows"])
def test_a_scale_of_another_group_is_found(one_row: bool, int4: Quantized) -> None:
    down = "model.layers.1.mlp.down_proj.weight_scale"
    scale = tensors_of(int4.model)[down].clone()
    place = (5, 0) if one_row else (slice(None), 0)
    scale[place] *= 2
    change_export(int4.model, {down: scale})
    failure = _gate_failure(int4)
    assert failure.code == "EHG-WEIGHT-FOREIGN"
    assert "down_proj" in failure.sentence


def test_factors_that_awq_did_not_move_are_found(int4: Quantized) -> None:
    kept = load_file(int4.calibrate / SMOOTHING_FILE)
    factors = {name: each.flip(0).contiguous() for name, each in kept.items()}
    save_file(factors, int4.calibrate / SMOOTHING_FILE)
    reseal(int4.calibrate)
    assert _gate_failure(int4).code == "EHG-WEIGHT-FOREIGN"


def test_rows_of_another_weight_are_found(int4: Quantized) -> None:
    words = tensors_of(int4.model)[f"{UP}.weight_packed"]
    change_export(int4.model, {f"{UP}.weight_packed": words.flip(0)})
    assert UP in _gate_failure(int4).sentence


@pytest.mark.parametrize(
    ("kind", "code"), [("weight_scale", "EHG-SCALE-MISSING"), ("weight_shape", "EHG-SCALE-MISSING")]
)
def test_what_belongs_to_packed_integers_must_be_there(
    kind: str, code: str, int4: Quantized
) -> None:
    change_export(int4.model, {f"{UP}.{kind}": None})
    failure = _gate_failure(int4)
    assert failure.code == code
    assert f"{UP}.{kind}" in failure.sentence


def test_a_scale_that_is_no_number_is_found(int4: Quantized) -> None:
    scale = tensors_of(int4.model)[f"{UP}.weight_scale"].clone()
    scale[3, 0] = float("nan")
    change_export(int4.model, {f"{UP}.weight_scale": scale})
    assert _gate_failure(int4).code == "EHG-SCALE-BROKEN"


@pytest.mark.parametrize("kind", PACKED)
def test_a_packed_type_plans_four_bits_and_its_scales(kind: str) -> None:
    assert PACKED[kind].weight_bytes == pytest.approx((4 + 16 / 128) / 8)


def test_integers_come_back_as_they_were_packed() -> None:
    numbers = torch.randint(-8, 8, (6, 64), dtype=torch.int8)
    assert torch.equal(unpack(pack(numbers)), numbers)
    scale = torch.tensor([[0.5, 2.0]]).expand(6, 2)
    plain = dequantize_integers(pack(numbers), scale)
    assert torch.equal(plain[:, :32], numbers[:, :32].float() * 0.5)
    assert torch.equal(plain[:, 32:], numbers[:, 32:].float() * 2.0)
