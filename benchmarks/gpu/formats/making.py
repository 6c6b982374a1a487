"""Small trained checkpoints, exported by the build in each precision, and what is answered here.

Their widths are multiples of 128, which kernels of INT4 and of FP8 in blocks ask for.
"""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from transformers import AutoTokenizer

from benchmarks.gpu.formats.cases import CASES, ENCODER, SERVED_NAME, TOOLS_TEMPLATE, Case
from tests.trained_checkpoint import make_trained
from tests.workers.build_steps.gated import Quantized
from tests.workers.build_steps.quantizing import CALIBRATION
from tests.workers.engine.pooling.encoders import make_encoder, serving, write_sentence_files
from workers.engine.deltas import AdapterDeltas
from workers.engine.kv_cache import SlotCache
from workers.engine.loader import choose_dtype, find_model_class, load_model
from workers.engine.runner import ModelRunner, Segment
from workers.engine.settings import EngineSettings

PROMPTS = (
    "The capital of France is", "Once upon a time, in a small village", "def fibonacci(n):",
    "Water boils at",
)  # fmt: skip
TOKENS, TOP = 16, 5
_WIDE = {
    "hidden_size": 128, "intermediate_size": 256, "head_dim": 64, "num_attention_heads": 2,
    "num_key_value_heads": 2,
}  # fmt: skip
_ENCODER = {"hidden_size": 128, "intermediate_size": 256}


def make(folder: Path, names: list[str]) -> None:
    """Fill `folder` with a folder a case: `model`, and in `native.json` what is expected."""
    decoder = make_trained(folder / "originals/decoder", **_WIDE)
    encoder = make_encoder("Bert", folder / "originals/encoder", **_ENCODER)
    write_sentence_files(encoder, {"pooling_mode": "mean", "word_embedding_dimension": 128})
    for name in names:
        case = CASES[name]
        original = encoder if case.kind == ENCODER else decoder
        target = folder / name
        target.mkdir(parents=True)
        model = _made(case, original, target)
        answers = _vectors(model) if case.kind == ENCODER else _answers(model)
        (target / "native.json").write_text(json.dumps(answers))


def _made(case: Case, original: Path, target: Path) -> Path:
    model = target / "model"
    if case.quantization == "no_quant":
        return Path(shutil.copytree(original, model))
    build = target / "build"
    if case.calls_tools:
        original = Path(shutil.copytree(original, target / "original"))
        (original / "chat_template.jinja").write_text(TOOLS_TEMPLATE)
    made = Quantized("", case.quantization, build, original=original, **_build(case))
    shutil.move(made.model, model)
    shutil.rmtree(build)
    shutil.rmtree(target / "original", ignore_errors=True)
    return model


def _build(case: Case) -> dict[str, Any]:
    base = {"base_model": "encoder_bert"} if case.kind == ENCODER else {}
    return {"quantization_config": {**CALIBRATION, **case.quantization_config}, **base}


def _answers(folder: Path) -> list[dict[str, Any]]:
    """Return greedy tokens of each prompt, with the likeliest ones at each place."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    settings = EngineSettings(model_dir=folder, served_model_name=SERVED_NAME, device="cpu")
    model = load_model(find_model_class(folder), settings, choose_dtype("bfloat16", "cpu"))
    device = torch.device("cpu")
    cache = SlotCache(model.shape, slots=512, device=device, scales=model.cache_scales)
    runner = ModelRunner(model.module, cache, AdapterDeltas(model.module, [], device), device)
    prompts = [tokenizer(prompt)["input_ids"] for prompt in PROMPTS]
    return [{"prompt": each, "steps": _greedy(runner, cache, each)} for each in prompts]


def _greedy(runner: Any, cache: Any, prompt: list[int]) -> list[dict[str, float]]:
    holding = cache.reserve(len(prompt) + TOKENS)
    assert holding is not None
    piece, steps = prompt, []
    for _ in range(TOKENS):
        logits = runner.forward([Segment(holding, piece)])[0][-1]
        topk = logits.float().log_softmax(-1).topk(TOP)
        pairs = zip(topk.indices.tolist(), topk.values.tolist(), strict=True)
        steps.append({str(token): round(value, 4) for token, value in pairs})
        piece = [int(topk.indices[0])]
    return steps


def _vectors(folder: Path) -> Mapping[str, Any]:
    with serving(folder, dtype="bfloat16") as client:
        body = {"model": SERVED_NAME, "input": list(PROMPTS)}
        data = client.post("/v1/embeddings", json=body).json()["data"]
    return {"texts": list(PROMPTS), "vectors": [each["embedding"] for each in data]}
