"""A quantized folder that cannot be emulated is refused by the name of what is wrong with it."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from controlplane.domain.runtimes.native.failures import explain
from controlplane.domain.spec.choices import QuantizationType
from tests.workers.engine.quantized_folders import (
    Make,
    Tensors,
    change_json,
    change_tensors,
)
from workers.engine.engine import Engine
from workers.engine.errors import CheckpointRefused
from workers.engine.scheme_reader import read_scheme
from workers.engine.settings import EngineSettings

pytestmark = pytest.mark.engine

DOWN = "model.layers.0.mlp.down_proj"
KEYS = "model.layers.1.self_attn.k_proj"


@pytest.mark.parametrize("missing", [
    f"{DOWN}.weight_scale", f"{DOWN}.input_scale", f"{KEYS}.k_scale",
    f"{KEYS}.weight_scale", "model.layers.0.self_attn.v_proj.v_scale",
])  # fmt: skip
def test_a_missing_scale_is_refused_by_name(missing: str, folder_of: Callable[..., Path]) -> None:
    path = folder_of()
    change_tensors(path, lambda tensors: tensors.pop(missing))
    module, _, kind = missing.rpartition(".")
    refusal = _refusal(path)
    assert module in refusal
    assert kind in refusal


def test_a_missing_second_scale_of_nvfp4_is_refused_by_name(folder_of: Callable[..., Path]) -> None:
    path = folder_of(QuantizationType.FP4)
    change_tensors(path, lambda tensors: tensors.pop(f"{DOWN}.weight_scale_2"))
    assert f"`{DOWN}` is quantized and has no `weight_scale_2`" in _refusal(path)


def test_a_block_scale_that_does_not_cover_its_weight_is_refused(
    folder_of: Callable[..., Path],
) -> None:
    path = folder_of(QuantizationType.FP4)
    name = f"{DOWN}.weight_scale"
    change_tensors(path, lambda tensors: tensors.update({name: tensors[name][:, :4].contiguous()}))
    assert f"`{name}` is [64, 4]" in _refusal(path)


@pytest.mark.parametrize(("change", "words"), [
    (lambda each: each.update({f"{DOWN}.input_scale": torch.tensor(0.0)}), "is 0.0"),
    (lambda each: each.update({f"{DOWN}.input_scale": torch.ones(3)}), "holds 3 numbers"),
    (lambda each: each.update({"lm_head.input_scale": torch.ones(1)}), "no quantized layer"),
    (lambda each: each.update({f"{DOWN}.pre_quant_scale": torch.ones(128)}), "what `model"),
    (lambda each: each.update({f"{DOWN}.weight_scale": torch.ones(4, 2)}), "is [4, 2]"),
    (lambda each: each.pop("model.norm.weight"), "no tensor `model.norm.weight`"),
])  # fmt: skip
def test_tensors_that_do_not_belong_together_are_refused(
    change: Callable[[Tensors], object], words: str, folder_of: Callable[..., Path]
) -> None:
    path = folder_of()
    change_tensors(path, change)
    assert words in _refusal(path)


@pytest.mark.parametrize(("changes", "words"), [
    ({"hidden_act": "nonsense"}, "`LlamaForCausalLM` cannot be made of"),
    ({"hidden_size": 10**30}, "`LlamaForCausalLM` cannot be made of"),
    ({"intermediate_size": -5}, "`LlamaForCausalLM` cannot be made of"),
    ({"num_hidden_layers": 0}, "`num_hidden_layers` is 0"),
    ({"num_hidden_layers": 1}, "has `model.layers.1."),
])  # fmt: skip
def test_a_config_of_which_its_class_cannot_be_made_is_refused(
    changes: dict[str, Any], words: str, folder_of: Callable[..., Path]
) -> None:
    path = folder_of()
    change_json(path / "config.json", lambda each: each.update(changes))
    assert words in _refusal(path)


@pytest.mark.parametrize(("excluded", "words"), [
    (["lm_head", "model.layers.0.mlp*"], "is quantized, and the checkpoint's list"),
    ([], "`lm_head` is not quantized"),
])  # fmt: skip
def test_layers_and_their_list_must_agree(
    excluded: list[str], words: str, folder_of: Callable[..., Path]
) -> None:
    path = folder_of()
    _change_export(path, exclude_modules=excluded)
    assert words in _refusal(path)


@pytest.mark.parametrize(("changes", "words"), [
    ({"quant_algo": "W4A16_AWQ"}, "its quant_algo `W4A16_AWQ`"),
    ({"quant_algo": "NVFP4"}, "is stored as F8_E4M3"),
    ({"kv_cache_quant_algo": "NVFP4"}, "its kv_cache_quant_algo `NVFP4`"),
    ({"weight_bits": 3}, "has `quantization.weight_bits`, which no ModelOpt"),
])  # fmt: skip
def test_an_export_of_another_kind_is_refused(
    changes: dict[str, Any], words: str, folder_of: Callable[..., Path]
) -> None:
    path = folder_of()
    _change_export(path, **changes)
    assert words in _refusal(path)


@pytest.mark.parametrize(("block", "words"), [
    ({"quant_method": "gptq", "bits": 4}, "GPTQ's packed integers"),
    ({"quant_method": "awq", "bits": 4}, "AWQ's packed integers"),
    ({"quant_method": "bitsandbytes"}, "bitsandbytes' blocks"),
    ({"quant_method": "fp8", "weight_block_size": [64, 64]}, "weight_block_size `[64, 64]`"),
    ({"quant_method": "compressed-tensors"}, "more than one group"),
    ({"quant_method": "compressed-tensors", "config_groups": {"group_0": {
        "targets": ["Linear"], "weights": {"num_bits": 4, "type": "int", "strategy": "group"},
    }}}, "`4 int group`"),
    ({"quant_method": "new"}, "quantized with new"),
])  # fmt: skip
def test_other_methods_are_refused_with_what_to_do(
    block: dict[str, Any], words: str, folder_of: Callable[..., Path]
) -> None:
    path = folder_of()
    (path / "hf_quant_config.json").unlink()
    change_json(path / "config.json", lambda each: each.update(quantization_config=block))
    refusal = _refusal(path)
    assert words in refusal
    assert "serve this one with `vllm` or `trtllm` on a GPU" in refusal


def test_a_declaration_in_the_form_of_config_json_is_read(folder_of: Callable[..., Path]) -> None:
    path = folder_of()
    config = json.loads((path / "config.json").read_bytes())
    before = read_scheme(path, config)
    (path / "hf_quant_config.json").write_text(json.dumps(config["quantization_config"]))
    assert read_scheme(path, config) == before


def test_a_gguf_file_is_refused_with_what_to_do(tmp_path: Path, made: Make) -> None:
    path = Path(shutil.copytree(made(QuantizationType.FP8).original, tmp_path / "gguf"))
    (path / "model.safetensors").rename(path / "model-Q4_K_M.gguf")
    assert "model-Q4_K_M.gguf" in _refusal(path)
    assert "original checkpoint in safetensors" in _refusal(path)


def test_a_refusal_reaches_the_user_in_the_engines_words(folder_of: Callable[..., Path]) -> None:
    path = folder_of()
    change_tensors(path, lambda tensors: tensors.pop(f"{KEYS}.k_scale"))
    refusal = _refusal(path)
    failure = explain(f"INFO loading\nERROR checkpoint refused: {refusal}\n")
    assert failure is not None
    assert failure.sentence == refusal


def _settings(folder: Path) -> EngineSettings:
    return EngineSettings(
        model_dir=folder, served_model_name="x", dtype="float32", kv_cache_bytes=1 << 20
    )


def _refusal(folder: Path) -> str:
    with pytest.raises(CheckpointRefused) as refused:
        Engine(_settings(folder))
    return str(refused.value)


def _change_export(folder: Path, **changes: Any) -> None:
    change_json(folder / "hf_quant_config.json", lambda each: each["quantization"].update(changes))
