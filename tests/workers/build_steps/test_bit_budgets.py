"""A search within a budget of bits gives layers FP4, FP8 or 16 bits, and files say which."""

import gc
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import LlamaForCausalLM

from controlplane.domain.facts.matrices import is_matched
from controlplane.domain.passport import Passport
from controlplane.domain.spec import Spec
from controlplane.sources import folder_facts
from tests.tiny_families import make_family
from tests.workers.build_steps.gated import TRAINED, Quantized
from tests.workers.build_steps.quantizing import (
    CALIBRATION,
    SAMPLES,
    inspected,
    quantized_spec,
    read_json,
    refused,
    reseal,
    run_here,
    tensors_of,
)
from tests.workers.engine.quantized_folders import ROW, engine_logits
from workers.build_steps.failures import StepFailure
from workers.build_steps.gating.as_served import load_as_served
from workers.build_steps.quantization.checkpoint import open_checkpoint
from workers.build_steps.quantization.forward import run_batch
from workers.build_steps.quantization.loading import Device
from workers.build_steps.quantization.modelopt import (
    presets,
    searched_anywhere,
    tensor_quant,
)
from workers.build_steps.quantization.recipes import find_recipe, modelopt_config
from workers.build_steps.quantization.within_budget import within_budget
from workers.engine.errors import CheckpointRefused
from workers.engine.scheme import Number
from workers.engine.scheme_reader import read_scheme

pytestmark = [pytest.mark.engine, pytest.mark.filterwarnings("ignore")]
BITS_OF = {"torch.uint8": 4.5, "torch.float8_e4m3fn": 8.0}
FEW = 2
"""Samples, each of which a search goes through forwards and backwards; enough where the model is a
random one, of which any choice is as good."""


def budget(bits: float, *excluded: str, samples: int = FEW) -> dict[str, Any]:
    config = {**CALIBRATION, "effective_bits": bits, "exclude_modules": list(excluded)}
    return {"quantization_config": config, "samples": samples}


def stored_bits(quantized: Quantized) -> dict[str, tuple[float, int]]:
    """Return the bits and the size of each matrix of the layers, as the files have them."""
    sizes = {name: each.numel() for name, each in tensors_of(quantized.original).items()
             if ".layers." in name and each.dim() > 1}  # fmt: skip
    made = tensors_of(quantized.model)
    return {name: (BITS_OF.get(str(made[name].dtype), 16.0), size) for name, size in sizes.items()}


def average(stored: dict[str, tuple[float, int]]) -> float:
    return sum(b * n for b, n in stored.values()) / sum(n for _, n in stored.values())


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Quantized:
    folder = tmp_path_factory.mktemp("mixed")
    return Quantized(TRAINED, "fp4_kv", folder, **budget(6.5, samples=SAMPLES))


def test_files_keep_to_the_budget_and_say_what_each_layer_is(mixed: Quantized) -> None:
    stored = stored_bits(mixed)
    assert average(stored) <= 6.5
    assert mixed.values["effective_bits"] == pytest.approx(average(stored), abs=0.001)
    declared = read_json(mixed.model / "hf_quant_config.json")["quantization"]
    assert declared["quant_algo"] == "MIXED_PRECISION"
    bits = {"FP8": 8.0, "NVFP4": 4.5}
    told = {f"{name}.weight": bits[each["quant_algo"]]
            for name, each in declared["quantized_layers"].items()}  # fmt: skip
    assert told == {name: each for name, (each, _) in stored.items() if each < 16}


def test_the_gate_compares_each_layer_with_its_own_number(mixed: Quantized) -> None:
    told = mixed.gate()
    quantized = [each for each, _ in stored_bits(mixed).values() if each < 16]
    assert told["state"] == "passed"
    assert told["weights"]["compared"] == len(quantized)
    assert told["calibrated"]["not_compared"] == []
    assert told["runs_here"] is False


def test_the_budget_costs_less_than_fp4_and_more_than_fp8(mixed: Quantized, tmp_path: Path) -> None:
    drifts = [
        Quantized(TRAINED, kind, tmp_path / kind).gate()["figures"]["logit_drift_nats"]
        for kind in ("fp8_kv", "fp4_kv")
    ]
    assert drifts[0] < mixed.gate()["figures"]["logit_drift_nats"] < drifts[1]


def test_the_native_engine_answers_as_the_gate_measured_it(tmp_path: Path) -> None:
    made = Quantized("llama", "fp4_kv", tmp_path, **budget(6.5, samples=SAMPLES))
    scheme = read_scheme(made.model, read_json(made.model / "config.json"))
    assert scheme is not None
    assert scheme.number is Number.MIXED
    original = open_checkpoint(made.original, served_as_encoder=False)
    measured = load_as_served(
        original, made.model, device=Device(kind="cpu", threads=1), dtype=torch.float32
    )
    with torch.inference_mode():
        wanted = run_batch(measured, [ROW]).logits[0, 7:]
        assert torch.allclose(engine_logits(made.model), wanted, atol=2e-4)


@pytest.mark.long  # test_the_native_engine_answers_as_the_gate_measured_it
def test_a_mixture_is_packaged_says_what_it_is_and_answers(
    mixed: Quantized, tmp_path: Path
) -> None:
    made = mixed.copied(tmp_path / "made")
    shutil.rmtree(made.root / "gates", ignore_errors=True)
    made.gate()
    facts = folder_facts(made.original, commit="c1", name="tiny").model_dump(mode="json")
    steps = {
        "fetch": made.fetch, "inspect": inspected(tmp_path / "inspect", checkpoint=facts),
        "calibrate": made.calibrate, "gate": made.root / "gates" / "0",
    }  # fmt: skip
    options = {"artifact_url": (tmp_path / "artifacts").as_uri(), "memory_bytes": 2_000_000_000}
    packaged = run_here("package", made.spec, tmp_path / "package", options, **steps).values
    told = packaged["passport"]["quantization"]
    record = Passport.model_validate(packaged["passport"]).quantization
    assert record is not None
    assert record.layers_by_number == told["layers_by_number"]
    assert told["effective_bits"] == made.values["effective_bits"]
    assert sum(told["layers_by_number"].values()) == 14
    steps["package"] = tmp_path / "package"
    tested = run_here("smoke_test", made.spec, tmp_path / "smoke_test", options, **steps).values
    assert tested["engine"]["emulated"][0].startswith("FP8 and NVFP4 weights of 14 layers")


def test_what_is_excluded_counts_with_16_bits(tmp_path: Path) -> None:
    made = Quantized("llama", "fp4", tmp_path, **budget(9.0, "*.down_proj"))
    stored = stored_bits(made)
    assert {each for name, (each, _) in stored.items() if "down_proj" in name} == {16.0}
    assert 4.5 < average(stored) <= 9.0


def test_a_search_with_fp8_alone_names_all_layers_that_stay(tmp_path: Path) -> None:
    made = Quantized("llama", "fp8", tmp_path, **budget(12.0))
    stored = stored_bits(made)
    declared = read_json(made.model / "hf_quant_config.json")["quantization"]
    assert declared["quant_algo"] == "FP8"
    assert average(stored) <= 12.0
    bits = {name.removesuffix(".weight"): each for name, (each, _) in stored.items()}
    told = {name for name in bits if is_matched(name, declared["exclude_modules"])}
    assert told == {name for name, each in bits.items() if each == 16}
    assert made.gate()["weights"]["not_compared"] == {}


def test_the_least_budget_is_the_smallest_number_everywhere(tmp_path: Path) -> None:
    made = Quantized("llama", "fp4", tmp_path, **budget(4.5))
    assert {each for each, _ in stored_bits(made).values()} == {4.5}
    assert made.values["quant_algo"] == "NVFP4"


def test_layers_that_engines_compute_as_one_have_one_number(mixed: Quantized) -> None:
    stored = {name.removesuffix(".weight"): each for name, (each, _) in stored_bits(mixed).items()}
    for name, bits in stored.items():
        for one, others in (("q_proj", ("k_proj", "v_proj")), ("gate_proj", ("up_proj",))):
            if name.endswith(one):
                assert {stored[name.replace(one, other)] for other in others} == {bits}


@pytest.mark.parametrize(
    ("family", "kind", "build", "code"),
    [
        ("llama", "fp4", budget(8.0, "*.gate_proj", "*.up_proj", "*.down_proj"), "EHQ-BUDGET"),
        ("llama", "fp4", budget(15.0, "*_proj"), "EHQ-NOTHING"),
        ("mixtral", "fp4", budget(6.0), "EHQ-BUDGET"),
        ("bert", "fp4", {**budget(6.0), "base_model": "encoder"}, "EHQ-BUDGET"),
    ],
)
def test_a_budget_that_no_search_keeps_to_is_refused(
    family: str, kind: str, build: dict[str, Any], code: str, tmp_path: Path
) -> None:
    folder = make_family(family, tmp_path / family)
    assert refused(folder, tmp_path, quantized_spec(folder, kind, **build)).code == code


def test_a_mixture_that_says_another_number_than_it_has_is_refused(
    mixed: Quantized, tmp_path: Path
) -> None:
    made = mixed.copied(tmp_path / "harmed")
    file = made.model / "hf_quant_config.json"
    stored = read_json(file)
    layers = stored["quantization"]["quantized_layers"]
    name = next(name for name, each in layers.items() if each["quant_algo"] == "FP8")
    layers[name] = {"quant_algo": "NVFP4", "group_size": 16}
    file.write_text(json.dumps(stored))
    reseal(made.calibrate)
    with pytest.raises(StepFailure) as raised:
        made.gate()
    assert raised.value.failure.code == "EHG-DECLARATION"
    with pytest.raises(CheckpointRefused, match=re.escape(f"`{name}.weight` is stored as")):
        engine_logits(made.model)


def test_a_mixture_that_leaves_a_layer_out_is_refused(mixed: Quantized, tmp_path: Path) -> None:
    made = mixed.copied(tmp_path / "harmed")
    file = made.model / "hf_quant_config.json"
    stored = read_json(file)
    name, _ = stored["quantization"]["quantized_layers"].popitem()
    file.write_text(json.dumps(stored))
    reseal(made.calibrate)
    with pytest.raises(StepFailure) as raised:
        made.gate()
    assert raised.value.failure.code == "EHG-DECLARATION"
    with pytest.raises(CheckpointRefused, match=re.escape(f"`{name}")):
        engine_logits(made.model)


def test_modelopts_own_rounding_is_back_after_a_search() -> None:
    before = tensor_quant.dynamic_block_quantize_op
    with searched_anywhere():
        assert tensor_quant.dynamic_block_quantize_op is not before
    assert tensor_quant.dynamic_block_quantize_op is before


def test_the_model_of_a_search_is_gone_before_the_next_is_loaded(tmp_path: Path) -> None:
    folder = make_family("llama", tmp_path / "llama")
    checkpoint = open_checkpoint(folder, served_as_encoder=False)
    spec = Spec.model_validate(quantized_spec(folder, "fp4", **budget(6.5)))
    recipe = find_recipe(spec.quantization_type)
    config = modelopt_config(recipe, presets, has_kv_cache=True, is_encoder=False)
    held = {id(each) for each in models_in_memory()}
    gc.disable()
    try:
        chosen, _ = within_budget(
            spec, checkpoint, config, [ROW], Device(kind="cpu", threads=1), torch.float32,
            lambda *_: None,
        )  # fmt: skip
        left = [each for each in models_in_memory() if id(each) not in held]
    finally:
        gc.enable()
    assert chosen is not None
    assert left == []


def models_in_memory() -> list[object]:
    return [each for each in gc.get_objects() if issubclass(type(each), LlamaForCausalLM)]
