"""Quantized folders on a CPU answer what a GPU would, and say what is emulated."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from controlplane.domain.spec.choices import QuantizationType
from tests.tiny_families import make_family
from tests.workers.engine.asking import Asked, report_of, start_engine
from tests.workers.engine.quantized_folders import (
    ROW,
    Make,
    as_compressed_tensors,
    change_json,
    engine_logits,
    make_artifact,
)
from workers.engine.scheme_reader import read_scheme
from workers.engine.settings import EngineSettings

pytestmark = pytest.mark.engine

LEAST_COSINE = {
    QuantizationType.FP8: 0.98,
    QuantizationType.FP8_KV: 0.97,
    QuantizationType.FP8_MLP_ONLY: 0.99,
    QuantizationType.FP4: 0.7,  # random weights have nothing that four bits could keep
    QuantizationType.FP4_KV: 0.7,
    QuantizationType.FP4_MLP_ONLY: 0.95,
}
FP8_WEIGHTS = "FP8 weights of 14 layers are expanded to float32 when they are loaded"
FP8_INPUTS = "inputs of these layers are rounded to FP8 with exported scales"
FP8_CACHE = "keys and values are rounded to FP8 with exported scales and kept in float32"
TRAINED_TOKENS = 300
"""The tokenizer has more; the model's vocabulary has some that no text gives."""
STATIC = {"num_bits": 8, "type": "float", "strategy": "tensor", "dynamic": False}
PER_TOKEN = {"num_bits": 8, "type": "float", "strategy": "token", "dynamic": True}


@pytest.mark.parametrize("kind", LEAST_COSINE)
def test_the_engine_answers_as_modelopts_simulation(kind: QuantizationType, made: Make) -> None:
    quantized = made(kind)
    theirs = quantized.simulated_logits
    apart = float((engine_logits(quantized.path) - theirs).norm())
    assert apart < 0.001 * float((quantized.original_logits - theirs).norm())


@pytest.mark.parametrize("kind", LEAST_COSINE)
def test_the_engine_answers_close_to_the_original(kind: QuantizationType, made: Make) -> None:
    quantized = made(kind)
    close = torch.cosine_similarity(
        engine_logits(quantized.path), quantized.original_logits, dim=-1
    )
    assert LEAST_COSINE[kind] < float(close.mean()) < 0.9999


@pytest.mark.parametrize(("kind", "words"), [
    (QuantizationType.FP8, [FP8_WEIGHTS, FP8_INPUTS]),
    (QuantizationType.FP8_KV, [FP8_WEIGHTS, FP8_INPUTS, FP8_CACHE]),
    (QuantizationType.FP8_MLP_ONLY, [FP8_WEIGHTS.replace("14", "6"), FP8_INPUTS]),
    (QuantizationType.FP4, [
        FP8_WEIGHTS.replace("FP8", "NVFP4"),
        "inputs of these layers are rounded to NVFP4 in blocks of 16 with exported scales",
    ]),
])  # fmt: skip
def test_the_report_says_what_is_emulated_and_what_memory_it_takes(
    kind: QuantizationType, words: list[str], made: Make
) -> None:
    plain = report_of(_settings(made(kind).original))
    report = report_of(_settings(made(kind).path))
    assert plain["emulated"] == []
    assert report["emulated"] == words
    assert report["weights_bytes"] == plain["weights_bytes"]
    assert report["kv_cache_bytes"] == plain["kv_cache_bytes"]


@pytest.mark.parametrize("family", ["qwen2", "qwen3"])
def test_an_artifact_of_another_family_is_served(family: str, tmp_path: Path) -> None:
    original = make_family(family, tmp_path / "original")  # qwen2 shares its head with its input
    make_artifact(original, QuantizationType.FP8_KV, tmp_path / "artifact")
    close = torch.cosine_similarity(
        engine_logits(tmp_path / "artifact"), engine_logits(original), dim=-1
    )
    assert 0.98 < float(close.mean()) < 0.9999
    reports = [report_of(_settings(tmp_path / name)) for name in ("original", "artifact")]
    assert reports[0]["weights_bytes"] == reports[1]["weights_bytes"]


def test_rows_that_run_together_answer_as_each_alone(made: Make) -> None:
    folder = made(QuantizationType.FP8_KV).path
    engine = start_engine(folder, max_num_tokens=16)
    try:
        alone = [Asked(engine, ROW[:length], ignore_eos=True).finish() for length in (5, 20)]
        request = [Asked(engine, ROW[:length], ignore_eos=True) for length in (5, 20)]
        together = [each.finish() for each in request]
    finally:
        engine.stop()
    assert [each.tokens for each in together] == [each.tokens for each in alone]


def test_the_end_token_of_generation_config_ends_an_answer(folder_of: Callable[..., Path]) -> None:
    path = folder_of()
    engine = start_engine(path)
    try:
        tokens = Asked(engine, ROW, ignore_eos=True).finish().tokens
    finally:
        engine.stop()
    end = next(token for token in tokens if token < TRAINED_TOKENS)
    change_json(path / "generation_config.json", lambda each: each.update(eos_token_id=[2, end]))
    engine = start_engine(path)
    try:
        assert Asked(engine, ROW).finish().tokens == tokens[: tokens.index(end) + 1]
    finally:
        engine.stop()


def test_modelopts_block_in_config_json_is_enough(
    folder_of: Callable[..., Path], made: Make
) -> None:
    path = folder_of()
    (path / "hf_quant_config.json").unlink()
    assert torch.equal(engine_logits(path), engine_logits(made(QuantizationType.FP8_KV).path))


def test_an_empty_scheme_of_the_cache_rounds_nothing_there(tmp_path: Path) -> None:
    block = {"quant_method": "modelopt", "quant_algo": "FP8", "kv_cache_scheme": {}}
    scheme = read_scheme(tmp_path, {"quantization_config": block})
    assert scheme is not None
    assert not scheme.has_fp8_cache


def test_compressed_tensors_fp8_gives_the_same_answers(
    folder_of: Callable[..., Path], made: Make
) -> None:
    path = folder_of()
    as_compressed_tensors(path, STATIC, cache=True)
    assert torch.equal(engine_logits(path), engine_logits(made(QuantizationType.FP8_KV).path))


def test_scales_per_token_or_none_are_what_compressed_tensors_asks_for(
    folder_of: Callable[..., Path], made: Make
) -> None:
    path, original = folder_of(QuantizationType.FP8), made(QuantizationType.FP8).original_logits
    as_compressed_tensors(path, PER_TOKEN)
    per_token = engine_logits(path)
    assert "each token's own scales" in report_of(_settings(path))["emulated"][1]
    as_block = {"config_groups": {"group_0": {
        "targets": ["Linear"], "weights": STATIC, "input_activations": None,
    }}}  # fmt: skip
    change_json(path / "config.json", lambda each: each["quantization_config"].update(as_block))
    untouched = engine_logits(path)
    assert len(report_of(_settings(path))["emulated"]) == 1
    assert 0 < (untouched - original).norm() < (per_token - original).norm()


def _settings(folder: Path) -> EngineSettings:
    return EngineSettings(
        model_dir=folder, served_model_name="x", dtype="float32", kv_cache_bytes=1 << 20
    )
