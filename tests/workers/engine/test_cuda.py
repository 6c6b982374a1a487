"""On a GPU: every token is the one that Transformers finds best there. Skipped without CUDA.

Without the rest of the project's packages: `pytest -c /dev/null --noconftest` of this file.
`NATIVE_DEVICE=cpu` rehearses it.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModel, AutoModelForCausalLM

from controlplane.domain.spec.choices import QuantizationType
from tests.workers.engine.asking import Asked, start_engine
from tests.workers.engine.pooling.encoders import make_encoder, write_sentence_files
from tests.workers.engine.shapes import make_shape
from workers.engine.pooling.engine import PoolingEngine
from workers.engine.pooling.rows import Row
from workers.engine.settings import EngineSettings
from workers.runtimes.native.drafting import drafters

DEVICE = os.environ.get("NATIVE_DEVICE", "cuda")
pytestmark = [
    pytest.mark.engine,
    pytest.mark.skipif(
        DEVICE == "cuda" and not torch.cuda.is_available(), reason="there is no CUDA device"
    ),
    # PEFT asks Transformers by a name that is on its way out.
    pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing`:FutureWarning"),
]

TOKENS = 30
MOST_LOST = {"float32": 1e-3, "bfloat16": 0.02}
"""By which share of the spread of a position's scores the chosen one may fall short of the best."""
MOST_LOST_MERGED = {"float32": 1e-3, "bfloat16": 0.05}
"""Beside merged weights, which are rounded once more."""
LEAST_CLOSE = {"float32": (0.999, 0.999), "bfloat16": (0.98, 0.9)}
"""Mean cosine beside ModelOpt's simulation in float32, of FP8 and of FP4."""
NAMES = ("llama", "qwen2", "qwen3", "mistral-window", "gemma2", "gemma3", "phi3-longrope")


@pytest.mark.parametrize("dtype", MOST_LOST)
@pytest.mark.parametrize("name", NAMES)
def test_each_token_is_the_best_one(name: str, dtype: str, tmp_path: Path) -> None:
    folder = make_shape(name, tmp_path)
    # No row crosses the 64 tokens at which LongRoPE changes: all of its tokens are scored at once.
    prompts = [[5] * 1, list(range(3, 20)), list(range(3, 33)), list(range(3, 93)), [7, 8, 9] * 30]
    engine = start_engine(
        folder, device=DEVICE, dtype=dtype, max_num_tokens=40, make_drafter=drafters(4, 1),
        kv_cache_bytes=8 << 20,
    )  # fmt: skip
    request = [
        Asked(engine, prompt, max_tokens=TOKENS, ignore_eos=True, **how)
        for prompt in prompts
        for how in ({}, {"temperature": 0.7, "seed": 3})
    ]
    answers = [one.finish() for one in request]
    report = engine.report()
    engine.stop()
    assert (report["device"], report["dtype"]) == (DEVICE, dtype)
    assert [one.failure for one in answers] == [None] * len(answers)
    assert [len(one.tokens) for one in answers] == [TOKENS] * len(answers)
    model = AutoModelForCausalLM.from_pretrained(
        folder, dtype=getattr(torch, dtype), attn_implementation="eager"
    ).to(DEVICE)
    lost = [
        _lost(model, prompt, one.tokens) for prompt, one in zip(prompts, answers[::2], strict=True)
    ]
    assert max(lost) <= MOST_LOST[dtype], lost


@pytest.mark.parametrize("dtype", MOST_LOST_MERGED)
def test_adapters_beside_each_other_are_those_merged_into_the_weights(
    dtype: str, tmp_path: Path
) -> None:
    from peft import PeftModel

    from tests.workers.engine.adapter_folders import make_adapter

    folder = make_shape("llama", tmp_path / "model")
    adapters = {
        name: make_adapter(folder, tmp_path / name, seed=seed, r=rank)
        for name, seed, rank in (("one", 1, 4), ("two", 2, 8))
    }
    engine = start_engine(folder, device=DEVICE, dtype=dtype, adapters=adapters)
    prompt = list(range(3, 20))
    names = (None, "one", "two", None, "two")
    request = [
        Asked(engine, prompt, max_tokens=TOKENS, ignore_eos=True, generation={"adapter": name})
        for name in names
    ]
    answers = [one.finish().tokens for one in request]
    engine.stop()
    assert len({tuple(answer) for answer in answers}) == 3
    for name, answer in zip(names, answers, strict=True):
        model: Any = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
        if name is not None:
            model = PeftModel.from_pretrained(model, adapters[name]).merge_and_unload()
        as_served = model.to(DEVICE, getattr(torch, dtype))
        assert _lost(as_served, prompt, answer) <= MOST_LOST_MERGED[dtype]


@pytest.mark.parametrize("dtype", LEAST_CLOSE)
@pytest.mark.parametrize("kind", [QuantizationType.FP8_KV, QuantizationType.FP4_KV])
def test_emulated_numbers_are_those_of_modelopts_simulation(
    kind: QuantizationType, dtype: str, tmp_path: Path
) -> None:
    quantizing = pytest.importorskip("tests.workers.engine.quantized_folders")
    original = quantizing.make_original(tmp_path / "original")
    made = quantizing.make_quantized(original, kind, tmp_path / "quantized")
    engine_logits = quantizing.engine_logits(made.path, device_name=DEVICE, dtype=dtype)
    close = torch.cosine_similarity(engine_logits, made.simulated_logits, dim=-1)
    assert float(close.mean()) >= LEAST_CLOSE[dtype][kind.is_fp4], close


@pytest.mark.parametrize(("dtype", "most"), [("float32", 1e-4), ("bfloat16", 2e-2)])
def test_vectors_are_those_of_transformers(dtype: str, most: float, tmp_path: Path) -> None:
    folder = make_encoder("Bert", tmp_path)
    write_sentence_files(folder, {"pooling_mode_mean_tokens": True}, "Normalize")
    settings = EngineSettings(
        model_dir=folder, served_model_name="tiny", dtype=dtype, device=DEVICE
    )
    engine = PoolingEngine(settings)
    engine.start()
    texts = [[1, *range(5, 5 + length), 2] for length in (1, 7, 60)]
    made = engine.submit([Row(ids=ids, types=[0] * len(ids)) for ids in texts]).answer.result(60)
    engine.stop()
    model = AutoModel.from_pretrained(folder, dtype=torch.float32).to(DEVICE)
    for ids, vector in zip(texts, made, strict=True):
        with torch.inference_mode():
            hidden = model(torch.tensor([ids], device=DEVICE)).last_hidden_state[0]
        expected = torch.nn.functional.normalize(hidden.mean(0), dim=0).cpu()
        assert float((vector - expected).abs().max()) <= most


@torch.inference_mode()
def _lost(model: Any, prompt: Sequence[int], answer: Sequence[int]) -> float:
    """By how much of the spread an answer's tokens fall short of the best ones, at the worst."""
    ids = torch.tensor([[*prompt, *answer]], device=model.device)
    scores = model(ids, use_cache=False).logits[0, len(prompt) - 1 : -1].float()
    chosen = scores.gather(1, torch.tensor(answer, device=model.device)[:, None])[:, 0]
    best, least = scores.amax(1), scores.amin(1)
    return float(((best - chosen) / (best - least)).max())
