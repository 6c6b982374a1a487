"""Encoders that a build quantized answer as the gate measured them."""

import warnings
from pathlib import Path

import pytest
import torch
from transformers import AutoTokenizer

from controlplane.domain.spec.choices import QuantizationType
from tests.workers.engine.pooling.encoders import (
    TEXTS,
    make_encoder,
    serving,
    vectors,
    write_sentence_files,
)
from tests.workers.engine.pooling.minilm import minilm
from workers.engine.pooling.packed import fp8
from workers.engine.pooling.packed.fp8 import Fp8Linear

pytestmark = pytest.mark.engine
CALIBRATED_ON = (
    "The museum opens at nine and closes at six, except on Mondays.",
    "A patch that passes its own tests may still break those of its neighbours.",
    "Fourteen per cent of the voters had not decided a week before the election.",
    "Warm the milk slowly, stir in the flour, and add salt at the very end.",
    "Her second novel tells of a lighthouse keeper who learns to read at sixty.",
)
MEASURED_ON = (
    "The capital of France is Paris.",
    "A man is eating food.",
    "Someone has a meal.",
    "Interest rates rose in March after the central bank met for the third time this year.",
    "def add(left, right): return left + right",
    "Rain is expected in the north from Tuesday on; the south stays dry.",
)


def quantize_as_a_build_does(
    original: Path, folder: Path, calibrated_on: torch.Tensor
) -> torch.nn.Module:
    """Export the FP8 form of an encoder; give back what the gate measures."""
    # Loads ModelOpt, which most tests of the engine do without.
    from workers.build_steps.gating.as_served import load_as_served
    from workers.build_steps.quantization.checkpoint import open_checkpoint
    from workers.build_steps.quantization.export import export
    from workers.build_steps.quantization.loading import Device, load_model
    from workers.build_steps.quantization.modelopt import presets, quantize
    from workers.build_steps.quantization.recipes import RECIPES, modelopt_config

    checkpoint = open_checkpoint(original, served_as_encoder=True)
    device = Device(kind="cpu", threads=1)
    model = load_model(checkpoint, device=device, dtype=torch.float32)
    recipe = RECIPES[QuantizationType.FP8]
    target = modelopt_config(recipe, presets, has_kv_cache=False, is_encoder=True)
    export(quantize(model, target.config, lambda each: each(calibrated_on)), checkpoint, folder)
    return load_as_served(checkpoint, folder, device=device, dtype=torch.float32)


@pytest.mark.parametrize(("family", "head"), [("Bert", "Model"), ("Qwen3", "ForCausalLM")])
def test_an_fp8_encoder_is_emulated_and_says_so_unless_the_device_multiplies_fp8(
    tmp_path: Path, family: str, head: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = make_encoder(family, tmp_path / "original", head=head)
    write_sentence_files(original, {"pooling_mode": "lasttoken"})
    ids = torch.randint(3, 512, (1, 64), generator=torch.Generator().manual_seed(4))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # ModelOpt's, of which it has many
        served = quantize_as_a_build_does(original, tmp_path / "quantized", ids).base_model
    with serving(tmp_path / "quantized") as client:
        ours = vectors(client, TEXTS)
        emulated = client.get("/info").json()["emulated"]
    with serving(original) as client:
        before = vectors(client, TEXTS)
    assert emulated[0].startswith("FP8 weights of ")
    monkeypatch.setattr(fp8, "multiplies_fp8", lambda *_: True)  # torch has it for a CPU too
    with serving(tmp_path / "quantized", dtype="bfloat16") as client:
        multiplied = vectors(client, TEXTS)
        assert client.get("/info").json()["emulated"] == []
        layers = client.app.state.engine.model.module.modules()
        assert {each.weight.dtype for each in layers if isinstance(each, Fp8Linear)} == {fp8.FP8}
    near = torch.nn.functional.cosine_similarity(ours, multiplied)
    assert float(near.min()) > 0.995
    tokenizer = AutoTokenizer.from_pretrained(original)
    for vector, text in zip(ours, TEXTS, strict=True):
        with torch.inference_mode():
            hidden = served(**tokenizer(text, return_tensors="pt")).last_hidden_state[0, -1]
        assert float(torch.nn.functional.cosine_similarity(vector, hidden, dim=0)) > 0.9999
    assert not torch.allclose(ours, before, atol=1e-3)
    assert float(torch.nn.functional.cosine_similarity(ours, before).mean()) > 0.95


def test_fp8_leaves_a_trained_models_vectors_where_sentence_transformers_has_them(
    tmp_path: Path,
) -> None:
    ids = AutoTokenizer.from_pretrained(minilm())(" ".join(CALIBRATED_ON), return_tensors="pt")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # ModelOpt's, of which it has many
        quantize_as_a_build_does(minilm(), tmp_path / "quantized", ids["input_ids"])
        from sentence_transformers import SentenceTransformer

        library = SentenceTransformer(str(minilm()), device="cpu")
        theirs = library.encode(list(MEASURED_ON), convert_to_tensor=True).float()
    with serving(tmp_path / "quantized") as client:
        ours = vectors(client, MEASURED_ON)
    near = torch.nn.functional.cosine_similarity(ours, theirs)
    assert float(near.min()) >= 0.995
