"""Nothing that is computed on a GPU is mixed with tensors of the host, GPUs or no GPUs."""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from controlplane.domain.memory.native_limits import DECODER_STEP_TOKENS
from tests.workers.engine.asking import report_of
from tests.workers.engine.no_mixing import DEVICE, NoMixing
from tests.workers.engine.pooling.encoders import make_encoder, write_sentence_files
from tests.workers.engine.shapes import make_shape
from workers.engine.adapters import Adapter
from workers.engine.deltas import AdapterDeltas
from workers.engine.kv_cache import CacheScales, SlotCache
from workers.engine.loader import LoadedModel, find_model_class, load_model
from workers.engine.pooling.loader import load_encoder
from workers.engine.pooling.packed.runner import PackedRunner
from workers.engine.pooling.rows import Row
from workers.engine.pooling.runner import PaddedRunner
from workers.engine.quantized import PlainCheckpoint, emulate_inputs
from workers.engine.rounding import FixedRounding
from workers.engine.runner import ModelRunner, Segment
from workers.engine.settings import EngineSettings

pytestmark = pytest.mark.engine

SLOTS = 128


@pytest.mark.parametrize("name", ["llama", "gemma2", "gemma3", "phi3-longrope", "mistral-window"])
def test_a_step_is_computed_on_the_device_alone(name: str, tmp_path: Path) -> None:
    model = _on_device(make_shape(name, tmp_path))
    cache = SlotCache(model.shape, slots=SLOTS, device=DEVICE, scales=_cache_scales(model))
    with NoMixing():
        deltas = AdapterDeltas(model.module, _adapters(model.module), DEVICE)
        runner = ModelRunner(model.module, cache, deltas, DEVICE, model.long_rope)
        rows = [cache.reserve(40) for _ in range(3)]
        assert None not in rows
        first, second, third = (row for row in rows if row is not None)
        runner.forward([Segment(first, [5] * 30), Segment(second, [6] * 3, adapter="a")])
        drafted = Segment(second, [7, 8, 9], drafts=2, adapter="b")
        long = Segment(third, [4] * 20, is_long=model.long_rope is not None)
        scores = runner.forward([Segment(first, [5]), drafted, long])
        assert cache.resize(third, 20)
        cache.copy(first, third, 16)
        cache.release(first)
        cache.close_gaps()
    assert [tuple(each.shape[:1]) for each in scores] == [(1,), (3,), (1,)]
    assert {each.device.type for each in scores} == {"cpu"}


@pytest.mark.parametrize("device", ["cpu", str(DEVICE)])
def test_a_step_takes_what_the_plan_counts_on_every_device(device: str, tmp_path: Path) -> None:
    settings = EngineSettings(
        model_dir=make_shape("llama", tmp_path), served_model_name="x", device=device,
        max_num_tokens=8192, kv_cache_bytes=1 << 20,
    )  # fmt: skip
    assert report_of(settings)["step_tokens"] == DECODER_STEP_TOKENS


MODES = ("cls_token", "mean_tokens", "max_tokens", "mean_sqrt_len_tokens",
         "weightedmean_tokens", "lasttoken")  # fmt: skip


@pytest.mark.parametrize(
    ("family", "head"),
    [("Bert", "Model"), ("Llama", "Model"), ("Bert", "ForMaskedLM"),
     ("Bert", "ForSequenceClassification"), ("Qwen3", "ForSequenceClassification")],
)  # fmt: skip
def test_texts_are_pooled_on_the_device_alone(family: str, head: str, tmp_path: Path) -> None:
    folder = make_encoder(family, tmp_path, head=head)
    if head == "Model":
        pooling = {f"pooling_mode_{mode}": True for mode in MODES}
        write_sentence_files(folder, pooling, "Normalize")
    settings = EngineSettings(
        model_dir=folder, served_model_name="x", dtype="float32", device=str(DEVICE)
    )
    encoder = load_encoder(settings)
    rows = [Row(ids=ids, types=[0] * len(ids), prompt_tokens=1) for ids in ([1, 5, 6, 2], [1, 2])]
    with NoMixing():
        padded = PaddedRunner(encoder, DEVICE).start(rows)()
        packed = PackedRunner(encoder, DEVICE, max_tokens=64).start(rows)()
    assert [each.device.type for each in (*padded, *packed)] == ["cpu"] * 4


def _on_device(folder: Path) -> LoadedModel:
    """A model whose weights are on the GPU, and whose inputs of one kind are rounded to FP8."""
    settings = EngineSettings(model_dir=folder, served_model_name="x", device=str(DEVICE))
    model = load_model(find_model_class(folder), settings, torch.float32)
    rounded = [
        name for name in dict(model.module.named_modules()) if name.endswith("mlp.down_proj")
    ]
    scale = FixedRounding(scale=torch.tensor(0.1), is_fp4=False)
    emulate_inputs(
        model.module, PlainCheckpoint(weights={}, roundings=dict.fromkeys(rounded, scale))
    )
    return model


def _adapters(model: nn.Module) -> list[Adapter]:
    """Two, of different ranks and on different projections."""
    q, o = "model.layers.0.self_attn.o_proj", "model.layers.1.mlp.down_proj"
    return [
        Adapter(name=name, rank=rank, pairs={at: _pair(model.get_submodule(at), rank)})
        for name, at, rank in (("a", q, 2), ("b", o, 3))
    ]


def _pair(module: Any, rank: int) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.ones(rank, module.in_features), torch.ones(module.out_features, rank)


def _cache_scales(model: LoadedModel) -> list[CacheScales]:
    """As a checkpoint has them: on the host."""
    scale = torch.tensor([0.5])
    return [CacheScales(keys=scale, values=scale)] * model.shape.layers
