"""A folder that must not or cannot be served is refused with its reason."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from workers.engine.engine import Engine
from workers.engine.errors import CheckpointRefused
from workers.engine.loader import choose_dtype
from workers.engine.settings import EngineSettings

pytestmark = pytest.mark.engine

UP = "model.layers.1.mlp.up_proj.weight"


@pytest.fixture
def folder(checkpoint: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(checkpoint, tmp_path / "changed"))


def test_pickled_weights_are_refused(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    assert "only pytorch_model.bin, and a pickle can run code" in _refusal(folder)


def test_a_folder_without_weights_or_config_is_refused(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    assert "holds no weights" in _refusal(folder)
    (folder / "config.json").unlink()
    assert "has no config.json" in _refusal(folder)


def test_an_unknown_architecture_is_refused_with_the_known_ones(folder: Path) -> None:
    _change(folder, architectures=["MambaForCausalLM"])
    assert "`MambaForCausalLM`" in _refusal(folder)
    assert "LlamaForCausalLM" in _refusal(folder)


def test_code_in_a_checkpoint_is_never_run(folder: Path) -> None:
    trap = folder / "trap.txt"
    (folder / "modeling_evil.py").write_text(f"open({str(trap)!r}, 'w')")
    _change(folder, auto_map={"AutoModelForCausalLM": "modeling_evil.Evil"})
    engine = Engine(EngineSettings(model_dir=folder, served_model_name="x", dtype="float32"))
    engine.start()
    engine.stop()
    assert not trap.exists()


@pytest.mark.parametrize("changes", [
    {"quantization_config": {"quant_method": "modelopt"}},
    {"quantization_config": {"quant_method": "gptq"}},
])  # fmt: skip
def test_a_quantized_checkpoint_is_refused(folder: Path, changes: dict[str, Any]) -> None:
    _change(folder, **changes)
    assert changes["quantization_config"]["quant_method"] in _refusal(folder)


def test_a_checkpoint_without_a_tokenizer_is_refused(folder: Path) -> None:
    for path in folder.glob("tokenizer*"):
        path.unlink()
    assert "tokenizer" in _refusal(folder)


def test_more_positions_than_the_checkpoint_has_are_refused(folder: Path) -> None:
    assert "max_seq_len is 4096, but the checkpoint has 2048 positions" in _refusal(
        folder, max_seq_len=4096
    )


def test_a_rope_that_looks_at_the_longest_row_stays_below_its_switch(folder: Path) -> None:
    rope = {
        "rope_type": "dynamic", "rope_theta": 10000.0, "factor": 2.0,
        "original_max_position_embeddings": 1024,
    }  # fmt: skip
    _change(folder, rope_parameters=rope)
    assert "has 1024 positions" in _refusal(folder, max_seq_len=2048)


def test_a_tensor_that_is_not_there_is_refused_by_name(folder: Path) -> None:
    _change_tensors(folder, lambda tensors: tensors.pop(UP))
    assert f"no tensor `{UP}`" in _refusal(folder)


def test_a_layer_that_only_config_json_has_is_refused(folder: Path) -> None:
    _change(folder, num_hidden_layers=3)
    assert "no tensor `model.layers.2." in _refusal(folder)


def test_a_layer_that_config_json_does_not_make_is_refused(folder: Path) -> None:
    _change(folder, num_hidden_layers=1)
    assert "has `model.layers.1.input_layernorm.weight`, and config.json" in _refusal(folder)


@pytest.mark.parametrize("layers", [0, -1])
def test_a_model_without_layers_is_refused_by_setting(folder: Path, layers: int) -> None:
    _change(folder, num_hidden_layers=layers)
    assert f"`num_hidden_layers` is {layers}" in _refusal(folder)


@pytest.mark.parametrize(
    "changes",
    [
        {"hidden_act": "nonsense"},
        {"hidden_size": 10**30},
        {"hidden_size": 63},
        {"intermediate_size": -5},
        {"num_attention_heads": -4},
    ],
)
def test_a_config_of_which_its_class_cannot_be_made_is_refused(
    folder: Path, changes: dict[str, Any]
) -> None:
    _change(folder, **changes)
    assert "`LlamaForCausalLM` cannot be made of" in _refusal(folder)


def test_a_tensor_of_another_shape_is_refused_with_both(folder: Path) -> None:
    _change_tensors(folder, lambda tensors: tensors.update({UP: tensors[UP][:64].clone()}))
    assert f"`{UP}` is [64, 64] and should be [128, 64]" in _refusal(folder)


@pytest.mark.parametrize("tensor", [UP, "model.norm.weight", "model.embed_tokens.weight"])
@pytest.mark.parametrize("value", [float("nan"), float("-inf")])
def test_a_tensor_that_is_not_all_numbers_is_refused_by_name(
    folder: Path, tensor: str, value: float
) -> None:
    _change_tensors(folder, lambda tensors: tensors[tensor].view(-1)[-1:].fill_(value))
    assert f"`{tensor}` holds infinities" in _refusal(folder)


def test_lists_nested_too_deeply_in_config_json_are_refused(folder: Path) -> None:
    (folder / "config.json").write_text("[" * 200_000 + "]" * 200_000)
    assert "nests lists or objects too deeply" in _refusal(folder)


def test_a_cache_without_room_is_refused(folder: Path) -> None:
    assert "holds 7 tokens at 512 bytes each" in _refusal(folder, kv_cache_bytes=4000)


def test_float32_is_chosen_where_bfloat16_is_not_native() -> None:
    native = torch.cpu.get_capabilities()
    expected = native.get("avx512_bf16") or native.get("amx_bf16")
    assert (choose_dtype("auto", "cpu") == torch.bfloat16) == bool(expected)
    assert choose_dtype("auto", "cuda") == torch.bfloat16
    assert choose_dtype("float32", "cuda") == torch.float32
    assert choose_dtype("auto", "cpu", pools=True) == torch.float32


def _refusal(folder: Path, **settings: Any) -> str:
    with pytest.raises(CheckpointRefused) as refused:
        Engine(
            EngineSettings(
                model_dir=folder, served_model_name="x", **{"dtype": "float32", **settings}
            )
        )
    return str(refused.value)


def _change_tensors(folder: Path, change: Callable[[dict[str, torch.Tensor]], object]) -> None:
    tensors = load_file(folder / "model.safetensors")
    change(tensors)
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})


def _change(folder: Path, **changes: Any) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))
