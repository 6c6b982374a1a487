"""Exports that were harmed: each tensor or word that is not what it should be is named."""

import json
import math
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from controlplane.domain.failures import Failure
from tests.workers.build_steps.gated import TRAINED, Quantized
from tests.workers.build_steps.quantizing import change_export, reseal, tensors_of
from workers.build_steps.failures import StepFailure
from workers.build_steps.quantization import export
from workers.build_steps.quantization.amax import AMAX_FILE

pytestmark = [pytest.mark.engine, pytest.mark.filterwarnings("ignore")]
UP = "model.layers.0.mlp.up_proj"
VALUE = "model.layers.0.self_attn.v_proj"
ABSENT = object()


def refused(quantized: Quantized) -> Failure:
    with pytest.raises(StepFailure) as raised:
        quantized.gate()
    failure = raised.value.failure
    assert failure.blame == "ours"
    return failure


def declare(file: Path, *path: str, value: Any = ABSENT) -> None:
    """Write another value, or none, at a place of a file of JSON."""
    content = json.loads(file.read_bytes())
    part = content
    for name in path[:-1]:
        part = part[name]
    part.pop(path[-1])
    if value is not ABSENT:
        part[path[-1]] = value
    file.write_text(json.dumps(content))
    reseal(file.parents[1])


@pytest.mark.parametrize("kind", ["weight_scale", "input_scale"])
@pytest.mark.parametrize("module", ["model.layers.9.mlp.up_proj", "lm_head", "model.norm"])
def test_a_scale_without_quantized_numbers_is_refused(
    kind: str, module: str, kv: Quantized
) -> None:
    change_export(kv.model, {f"{module}.{kind}": torch.tensor(0.25)})
    failure = refused(kv)
    assert failure.code == "EHG-SCALE-UNUSED"
    assert f"`{module}`" in failure.sentence


@pytest.mark.parametrize("times", [2.0, 0.5, 1.02])
def test_a_weight_scale_that_the_original_does_not_ask_for_is_named(
    times: float, kv: Quantized
) -> None:
    scale = tensors_of(kv.model)[f"{UP}.weight_scale"]
    change_export(kv.model, {f"{UP}.weight_scale": scale * times})
    failure = refused(kv)
    assert failure.code == "EHG-SCALE-FOREIGN"
    assert f"`{UP}.weight_scale` is {times:.3g} times" in failure.sentence


def test_the_scale_of_another_layer_is_foreign(kv: Quantized) -> None:
    other = tensors_of(kv.model)[VALUE.replace("layers.0", "layers.1") + ".weight_scale"]
    change_export(kv.model, {f"{VALUE}.weight_scale": other.clone()})
    failure = refused(kv)
    assert failure.code == "EHG-SCALE-FOREIGN"
    assert f"`{VALUE}.weight_scale`" in failure.sentence


def test_numbers_of_another_weight_are_foreign(kv: Quantized) -> None:
    weight = tensors_of(kv.model)[f"{UP}.weight"]
    change_export(kv.model, {f"{UP}.weight": weight.flip(0)})
    failure = refused(kv)
    assert failure.code == "EHG-WEIGHT-FOREIGN"
    assert f"`{UP}.weight`" in failure.sentence


KEY = "model.layers.0.self_attn.k_proj"
MEASURED = [f"{UP}.input_scale", f"{KEY}.k_scale", f"{VALUE}.v_scale"]
"""A scale of each kind that calibration tells."""


@pytest.mark.parametrize("times", [2.0, 0.5, 1.00001])
@pytest.mark.parametrize("name", MEASURED)
def test_a_scale_that_calibration_did_not_find_is_named(
    name: str, times: float, kv: Quantized
) -> None:
    scale = tensors_of(kv.model)[name]
    change_export(kv.model, {name: scale * times})
    failure = refused(kv)
    assert failure.code == "EHG-SCALE-FOREIGN"
    assert f"`{name}` is {float(scale) * times:.6g}" in failure.sentence
    assert f"asks for {float(scale):.6g}" in failure.sentence


@pytest.mark.parametrize("name", MEASURED)
def test_what_calibration_found_for_another_layer_is_foreign(name: str, kv: Quantized) -> None:
    tensors = tensors_of(kv.model)
    other = tensors[name.replace("layers.0", "layers.1")]
    change_export(kv.model, {name: other.clone()})
    failure = refused(kv)
    assert failure.code == "EHG-SCALE-FOREIGN"
    assert f"`{name}` is {float(other):.6g}" in failure.sentence
    assert f"asks for {float(tensors[name]):.6g}" in failure.sentence


@pytest.mark.parametrize("value", [0.0, -0.25, math.nan, math.inf])
@pytest.mark.parametrize("name", MEASURED)
def test_a_scale_that_is_no_scale_is_named_beside_the_one_that_was_found(
    name: str, value: float, kv: Quantized
) -> None:
    outcome = float(tensors_of(kv.model)[name])
    change_export(kv.model, {name: torch.tensor(value)})
    failure = refused(kv)
    assert failure.code == "EHG-SCALE-BROKEN"
    assert f"`{name}` is {value}" in failure.sentence
    assert f"asks for {outcome:.6g}" in failure.sentence


@pytest.mark.parametrize("name", MEASURED)
def test_a_scale_that_calibration_found_and_the_export_lost_is_named(
    name: str, kv: Quantized
) -> None:
    outcome = float(tensors_of(kv.model)[name])
    change_export(kv.model, {name: None})
    failure = refused(kv)
    assert failure.code in ("EHG-SCALE-MISSING", "EHG-KV-SCALE-DROPPED")
    assert f"`{name}`" in failure.sentence
    assert f"asks for {outcome:.6g}" in failure.sentence


def test_scales_of_a_calibration_that_kept_no_largest_values_are_listed(kv: Quantized) -> None:
    (kv.calibrate / AMAX_FILE).unlink()
    report = kv.gate()["calibrated"]
    assert (report["scales"], report["compared"]) == (18, 0)
    assert set(MEASURED) < set(report["not_compared"])


def test_scales_of_another_shape_are_refused(kv: Quantized) -> None:
    change_export(kv.model, {f"{UP}.input_scale": torch.full((3,), 0.01)})
    failure = refused(kv)
    assert failure.code == "EHG-SCALE-BROKEN"
    assert f"`{UP}.input_scale` has the shape [3]" in failure.sentence


@pytest.mark.parametrize(
    ("file", "path", "value"),
    [
        ("hf_quant_config.json", "quantization.kv_cache_quant_algo", ABSENT),
        ("hf_quant_config.json", "quantization.kv_cache_quant_algo", None),
        ("hf_quant_config.json", "quantization.quant_algo", "NVFP4"),
        ("hf_quant_config.json", "quantization.exclude_modules", []),
        ("config.json", "quantization_config", ABSENT),
        ("config.json", "quantization_config.quant_algo", "NVFP4"),
        ("config.json", "quantization_config.kv_cache_scheme", ABSENT),
        ("config.json", "quantization_config.ignore", []),
        ("config.json", "quantization_config.config_groups", {}),
        ("config.json", "quantization_config.kv_cache_scheme", {"num_bits": 4}),
    ],
)
def test_a_declaration_that_the_files_deny_is_refused(
    file: str, path: str, value: object, kv: Quantized
) -> None:
    declare(kv.model / file, *path.split("."), value=value)
    failure = refused(kv)
    assert failure.code == "EHG-DECLARATION"
    last = path.rpartition(".")[2]
    assert last in failure.sentence or last == "exclude_modules"


def test_a_declaration_of_blocks_misses_their_scales(kv: Quantized) -> None:
    declare(kv.model / "config.json", "quantization_config", "quant_method", value="fp8")
    failure = refused(kv)
    assert failure.code == "EHG-SCALE-MISSING"
    assert "weight_scale_inv" in failure.sentence


def exclude(kv: Quantized, modules: list[str]) -> None:
    declare(kv.model / "hf_quant_config.json", "quantization", "exclude_modules", value=modules)
    declare(kv.model / "config.json", "quantization_config", "ignore", value=modules)


def test_layers_that_no_declaration_excludes_must_be_quantized(kv: Quantized) -> None:
    exclude(kv, [])
    failure = refused(kv)
    assert failure.code == "EHG-DECLARATION"
    assert "`lm_head` is not quantized" in failure.sentence


def test_layers_that_a_declaration_excludes_must_not_be_quantized(kv: Quantized) -> None:
    exclude(kv, ["lm_head", "*.up_proj"])
    failure = refused(kv)
    assert failure.code == "EHG-DECLARATION"
    assert f"`{UP}` is quantized" in failure.sentence


def test_a_cache_that_was_calibrated_and_is_neither_declared_nor_there_is_missed(
    kv: Quantized,
) -> None:
    scales = [name for name in tensors_of(kv.model) if name.endswith((".k_scale", ".v_scale"))]
    change_export(kv.model, dict.fromkeys(scales))
    declare(kv.model / "hf_quant_config.json", "quantization", "kv_cache_quant_algo", value=None)
    declare(kv.model / "config.json", "quantization_config", "kv_cache_scheme")
    assert refused(kv).code == "EHG-DECLARATION"


@pytest.mark.parametrize(
    "change",
    [{"model.norm.weight": None}, {"model.norm.weight": torch.ones(3)}],
    ids=["missing", "of another shape"],
)
def test_a_norm_that_our_export_lost_is_not_the_checkpoints_fault(
    change: dict[str, Tensor | None], kv: Quantized
) -> None:
    change_export(kv.model, change)
    failure = refused(kv)
    assert failure.code == "EHG-INCOMPLETE"
    assert "`model.norm.weight`" in failure.sentence


def test_scales_of_blocks_are_compared_with_their_own_largest_values(tmp_path: Path) -> None:
    made = Quantized("qwen3", "fp4", tmp_path / "made")
    for number, (kind, harm) in enumerate(
        {
            "weight_scale_2": lambda scale: scale * 2,
            "weight_scale": lambda scale: scale.float().roll(1, 0).to(scale.dtype),
            "weight": lambda codes: codes.flip(0),
        }.items()
    ):
        harmed = made.copied(tmp_path / str(number))
        name = f"{UP}.{kind}"
        change_export(harmed.model, {name: harm(tensors_of(harmed.model)[name])})
        failure = refused(harmed)
        foreign = "EHG-WEIGHT-FOREIGN" if kind == "weight" else "EHG-SCALE-FOREIGN"
        assert failure.code == foreign
        assert f"`{name}`" in failure.sentence


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("num_hidden_layers", 1),
        ("rms_norm_eps", 0.5),
        ("hidden_act", "relu"),
        ("num_attention_heads", 8),
        ("architectures", ["MistralForCausalLM"]),
        ("tie_word_embeddings", True),
        ("vocab_size", ABSENT),
        ("dtype", "float32"),
    ],
)
def test_a_setting_that_quantization_has_no_reason_to_change_is_named(
    name: str, value: object, kv: Quantized
) -> None:
    declare(kv.model / "config.json", name, value=value)
    failure = refused(kv)
    assert failure.code == "EHG-DESCRIPTION"
    assert f"`{name}` of config.json is" in failure.sentence


@pytest.mark.parametrize("added", [{"sliding_window": 4}, {"rope_scaling": {"factor": 2.0}}])
def test_a_setting_that_the_original_does_not_have_is_named(
    added: dict[str, Any], kv: Quantized
) -> None:
    path = kv.model / "config.json"
    path.write_text(json.dumps(json.loads(path.read_bytes()) | added))
    reseal(kv.calibrate)
    failure = refused(kv)
    assert failure.code == "EHG-DESCRIPTION"
    assert f"`{next(iter(added))}" in failure.sentence


@pytest.mark.parametrize("name", ["tokenizer_config.json", "generation_config.json"])
@pytest.mark.parametrize("content", ["{}", None])
def test_a_file_that_is_not_the_originals_is_named(
    name: str, content: str | None, kv: Quantized
) -> None:
    path = kv.model / name
    path.unlink() if content is None else path.write_text(content)
    reseal(kv.calibrate)
    failure = refused(kv)
    assert failure.code == "EHG-DESCRIPTION"
    assert f"`{name}`" in failure.sentence


@pytest.mark.parametrize("name", ["added_tokens.json", "model.safetensors.index.json"])
def test_a_file_more_than_the_original_has_is_named(name: str, kv: Quantized) -> None:
    (kv.model / name).write_text('{"weight_map": {}}')
    reseal(kv.calibrate)
    failure = refused(kv)
    assert failure.code == "EHG-DESCRIPTION"
    assert f"`{name}`" in failure.sentence


def test_tensors_in_a_second_file_that_no_index_names_are_refused(kv: Quantized) -> None:
    shutil.copyfile(kv.model / "model.safetensors", kv.model / "more.safetensors")
    reseal(kv.calibrate)
    assert "`model.safetensors.index.json` is missing" in refused(kv).sentence


@pytest.mark.parametrize("name", [f"{UP}.bias", "extra.weight"])
def test_a_tensor_that_the_class_does_not_know_is_named(name: str, kv: Quantized) -> None:
    change_export(kv.model, {name: torch.ones(4)})
    failure = refused(kv)
    assert failure.code == "EHG-TENSOR-UNKNOWN"
    assert f"`{name}`" in failure.sentence


def test_an_export_in_several_files_with_its_index_passes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export, "_SHARD_SIZE", "100KB")
    made = Quantized(TRAINED, "fp8", tmp_path / "made")
    assert len(list(made.model.glob("*.safetensors"))) > 1
    assert made.gate()["state"] == "passed"
