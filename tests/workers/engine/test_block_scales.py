"""FP8 in blocks in the native engine, against the arithmetic by which it is defined."""

from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor
from transformers import LlamaForCausalLM

from controlplane.domain.facts.quantization import FP8_BLOCKS
from tests.tiny_families import make_family
from tests.workers.engine.quantized_folders import (
    ROW,
    change_json,
    change_tensors,
    engine_logits,
)
from workers.build_steps.quantization.checkpoint import open_checkpoint
from workers.build_steps.quantization.export import export
from workers.build_steps.quantization.modelopt import presets, quantize
from workers.build_steps.quantization.recipes import Recipe, modelopt_config
from workers.engine.errors import CheckpointRefused

pytestmark = [pytest.mark.engine, pytest.mark.filterwarnings("ignore")]
UP = "model.layers.0.mlp.up_proj"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("blocks")
    original = make_family("llama", root / "original", hidden_size=256, intermediate_size=384,
                           head_dim=64, dtype="float32")  # fmt: skip
    model = LlamaForCausalLM.from_pretrained(original, dtype=torch.float32)
    recipe = Recipe(number=FP8_BLOCKS)
    config = modelopt_config(recipe, presets, has_kv_cache=True, is_encoder=False)
    quantized = quantize(model, config.config, None)
    checkpoint = open_checkpoint(original, served_as_encoder=False)
    export(quantized, checkpoint, root / "made", number=FP8_BLOCKS)
    return root / "made"


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    import shutil

    return Path(shutil.copytree(made, tmp_path / "copy"))


def _rounded(values: Tensor) -> Tensor:
    """Round each 128 numbers of a row as the format defines it, one at a time."""
    rows = values.reshape(-1, values.shape[-1])
    parts = [
        (part / scale).to(torch.float8_e4m3fn).float() * scale
        for part in rows.split(128, -1)
        for scale in [part.abs().amax(-1, keepdim=True) / 448]
    ]
    return torch.cat(parts, -1).reshape(values.shape)


@torch.inference_mode()
def test_an_artifact_answers_as_its_numbers_say(made: Path) -> None:
    tensors = load_file(made / "model.safetensors")
    config = LlamaForCausalLM.config_class.from_pretrained(made)
    del config.quantization_config
    plain = LlamaForCausalLM(config).eval()
    for name, parameter in plain.named_parameters():
        scale = tensors.get(f"{name}_scale_inv")
        weight = tensors[name].float() if name in tensors else parameter
        if scale is not None:
            weight *= scale.repeat_interleave(128, 0).repeat_interleave(128, 1)
            module = plain.get_submodule(name.removesuffix(".weight"))
            module.register_forward_pre_hook(lambda _, given: (_rounded(given[0]),))
        parameter.copy_(weight)
    target = plain(torch.tensor([ROW]), use_cache=False).logits[0, 7:]
    assert torch.allclose(engine_logits(made), target, atol=2e-4)


def _refusal(folder: Path) -> str:
    with pytest.raises(CheckpointRefused) as raised:
        engine_logits(folder)
    return str(raised.value)


@pytest.mark.parametrize(
    "changes",
    [{"weight_block_size": [64, 64]}, {"weight_block_size": None}, {"activation_scheme": "static"}],
)
def test_other_blocks_and_inputs_are_refused(changes: dict[str, object], folder: Path) -> None:
    change_json(folder / "config.json", lambda each: each["quantization_config"].update(changes))
    assert "does not read" in _refusal(folder)


def test_scales_that_are_no_blocks_of_the_weight_are_refused_by_name(folder: Path) -> None:
    name = f"{UP}.weight_scale_inv"
    change_tensors(folder, lambda each: each.update({name: each[name][:1].contiguous()}))
    assert f"`{name}` is [1, 2]" in _refusal(folder)


def test_a_layer_without_scales_is_refused_by_name(folder: Path) -> None:
    change_tensors(folder, lambda each: each.pop(f"{UP}.weight_scale_inv"))
    assert f"`{UP}` is quantized and has no `weight_scale_inv`" in _refusal(folder)
