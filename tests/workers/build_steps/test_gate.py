"""The gate: figures that mean something, and files that no engine should load refused by name."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
import torch

from apps.builds.examples import GATE
from controlplane.domain.spec.enginehouse_settings import Gate
from tests.workers.build_steps.gated import TRAINED, Quantized
from tests.workers.build_steps.quantizing import (
    change_export,
    run_here,
    tensors_of,
)
from workers.build_steps import outputs
from workers.build_steps.failures import StepFailure
from workers.build_steps.gating import encoding, generation, verdicts

pytestmark = [pytest.mark.engine, pytest.mark.filterwarnings("ignore")]
LOOSE = {"max_perplexity_increase": 1.0, "max_logit_drift_nats": 1.0, "min_same_choice": 0.0}


def test_a_decoder_is_measured_on_what_it_was_not_calibrated_on(kv: Quantized) -> None:
    values = kv.gate()
    assert values["state"] == "passed"
    assert values["failure"] is None
    assert values["evaluation"]["held_out"]
    assert values["evaluation"]["samples"] == 8
    figures = values["figures"]
    ratio = figures["perplexity_quantized"] / figures["perplexity_original"]
    assert figures["perplexity_change"] == pytest.approx(ratio - 1, abs=1e-4)
    assert 0 < figures["logit_drift_nats"] < 1
    assert figures["tokens"] == 8 * 63
    worst = [each["perplexity_ratio"] for each in values["worst"]]
    assert len(worst) == 3
    assert worst == sorted(worst, reverse=True)
    assert all(each["text"] for each in values["worst"])
    assert values["scales"] == {
        "input_scale": 14, "k_scale": 2, "v_scale": 2, "weight_scale": 14,
    }  # fmt: skip
    assert values["runs_here"]


def test_the_example_of_a_result_has_the_shape_of_a_real_one(kv: Quantized) -> None:
    assert shape_of(GATE) == shape_of(kv.gate())


def shape_of(value: Any) -> Any:
    """Return the names and kinds of a value; of a list those of its first entry."""
    if isinstance(value, dict):
        return {name: shape_of(each) for name, each in value.items()}
    if isinstance(value, list):
        return [shape_of(each) for each in value[:1]]
    return type(value)


def test_a_loss_over_the_limit_is_a_failure_with_its_numbers(kv: Quantized) -> None:
    # A model guesses worse that is surer of itself than it was trained to be.
    surer = tensors_of(kv.model)["model.norm.weight"] * 2
    change_export(kv.model, {"model.norm.weight": surer})
    values = kv.gate()
    assert values["state"] == "failed"
    failure = values["failure"]
    assert failure["code"] == "EHG-PERPLEXITY"
    assert failure["blame"] == "configuration"
    assert f"{values['figures']['perplexity_quantized']:.2f}" in failure["sentence"]
    assert "the limit is 6.0%" in failure["sentence"]
    assert "promote anyway" in failure["hint"]


def test_a_checkpoint_that_only_guesses_is_unmeasured_and_named(tmp_path: Path) -> None:
    random = Quantized("llama", "fp8", tmp_path)
    values = random.gate(random.with_gate(max_perplexity_increase=1e-8))
    assert (values["state"], values["failure"]) == ("unmeasured", None)
    figures = values["figures"]
    assert figures["perplexity_original"] > figures["perplexity_guessed"]
    assert f"`{random.original}`" in values["reason"]
    assert f"{figures['perplexity_original']:,.0f}" in values["reason"]


def test_a_gate_that_is_switched_off_says_unmeasured(kv: Quantized) -> None:
    values = kv.gate(kv.with_gate(enabled=False))
    assert values["state"] == "unmeasured"
    assert "figures" not in values


def test_an_own_evaluation_set_is_used_without_what_was_calibrated_on(
    kv: Quantized, tmp_path: Path
) -> None:
    rows = [
        {"text": f"Text number {number} of a set of one's own, with {number} words."}
        for number in range(6)
    ]
    path = tmp_path / "own.jsonl"
    path.write_text("".join(json.dumps(each) + "\n" for each in rows))
    spec = kv.with_gate(evaluation_dataset=str(path), **LOOSE)
    about = kv.gate(spec, local_checkpoint_roots=[str(tmp_path)])["evaluation"]
    assert (about["dataset"], about["samples"], about["held_out"]) == (str(path), 6, False)
    roots = [str(tmp_path), str(kv.original)]
    pinned = run_here(
        "fetch", spec, tmp_path / "fetched", {"local_checkpoint_roots": roots}
    ).values["evaluation"]
    assert (pinned["dataset"], pinned["revision"]) == (str(path), about["revision"])
    values = {"commit": "c1", "calibration": None, "evaluation": pinned}
    outputs.seal(kv.fetch, step="fetch", values=values, digests={})
    path.write_text(path.read_text().replace("Text", "Word"))
    with pytest.raises(StepFailure) as raised:
        kv.gate(spec, local_checkpoint_roots=[str(tmp_path)])
    assert raised.value.failure.code == "EHC-CHANGED"
    # The calibration set itself: all that is left is what was not calibrated on.
    outputs.seal(kv.fetch, step="fetch", values={**values, "evaluation": None}, digests={})
    about = kv.gate(kv.with_gate(evaluation_dataset="enginehouse/general"))["evaluation"]
    used = kv.values["calibration"]["used"]
    assert about["samples"] == about["rows_read"] - about["skipped_duplicate"] - used


FP4_SCALE = "model.layers.1.mlp.up_proj.weight_scale_2"


@pytest.mark.parametrize(
    ("change", "code", "name"),
    [
        ({"model.layers.1.self_attn.v_proj.v_scale": None}, "EHG-KV-SCALE-DROPPED",
         "model.layers.1.self_attn.v_proj.v_scale"),
        ({f"model.layers.{layer}.self_attn.k_proj.k_scale": None for layer in (0, 1)},
         "EHG-KV-SCALE-DROPPED", "*.k_scale"),
        ({"model.layers.0.mlp.up_proj.weight_scale": None}, "EHG-SCALE-MISSING",
         "model.layers.0.mlp.up_proj.weight_scale"),
        ({"model.layers.0.mlp.up_proj.input_scale": None}, "EHG-SCALE-MISSING",
         "model.layers.0.mlp.up_proj.input_scale"),
        ({"model.layers.0.mlp.up_proj.input_scale": torch.tensor(math.nan)}, "EHG-SCALE-BROKEN",
         "model.layers.0.mlp.up_proj.input_scale"),
        ({"model.layers.0.mlp.up_proj.input_scale": torch.tensor(0.0)}, "EHG-SCALE-BROKEN",
         "model.layers.0.mlp.up_proj.input_scale"),
        ({"model.layers.7.mlp.up_proj.input_scale": torch.tensor(1.0),
          "model.layers.7.mlp.up_proj.weight": torch.ones(1, 1).to(torch.float8_e4m3fn),
          "model.layers.7.mlp.up_proj.weight_scale": torch.tensor(2.0)}, "EHG-SCALE-UNUSED",
         "model.layers.7.mlp.up_proj.input_scale"),
    ],
)  # fmt: skip
def test_a_scale_that_is_missing_broken_or_unused_is_named(
    change: dict[str, torch.Tensor | None], code: str, name: str, kv: Quantized
) -> None:
    change_export(kv.model, change)
    with pytest.raises(StepFailure) as raised:
        kv.gate()
    assert raised.value.failure.code == code
    assert f"`{name}`" in raised.value.failure.sentence
    assert raised.value.failure.blame == "ours"


@pytest.mark.parametrize("kind", ["weight_scale", "k_scale"])
def test_scales_that_are_all_one_were_never_found(kind: str, kv: Quantized) -> None:
    ones = {name: torch.tensor(1.0) for name in tensors_of(kv.model) if name.endswith(f".{kind}")}
    change_export(kv.model, ones)
    with pytest.raises(StepFailure) as raised:
        kv.gate()
    assert raised.value.failure.code == "EHG-SCALES-ONE"
    assert f"`{kind}`" in raised.value.failure.sentence


def test_fp4_is_measured_by_emulation_and_says_that_nothing_ran_it(tmp_path: Path) -> None:
    quantized = Quantized("qwen3", "fp4", tmp_path)
    values = quantized.gate()
    assert values["runs_here"] is False
    assert "nothing here has run" in values["note"]
    assert values["figures"]["perplexity_quantized"] > 0
    change_export(quantized.model, {FP4_SCALE: None})
    with pytest.raises(StepFailure) as raised:
        quantized.gate()
    assert FP4_SCALE in raised.value.failure.sentence


@pytest.mark.parametrize("kind", ["fp4", "fp4_kv"])
def test_fp4_of_a_trained_model_is_judged_by_the_limits_of_fp8(kind: str, tmp_path: Path) -> None:
    values = Quantized(TRAINED, kind, tmp_path).gate()
    assert (values["state"], values["failure"]) == ("passed", None)
    assert values["limits"] == Gate().model_dump(include=set(values["limits"]))
    assert values["figures"]["logit_drift_nats"] > 0


def test_an_embedder_is_measured_by_its_vectors(tmp_path: Path) -> None:
    values = Quantized("bert", "fp8", tmp_path).gate()
    assert values["kind"] == "encoder"
    assert values["state"] == "passed"
    assert values["figures"]["mean_cosine"] > 0.99
    assert values["figures"]["label_agreement"] is None
    assert [each["cosine"] for each in values["worst"]] == sorted(
        each["cosine"] for each in values["worst"]
    )


def test_a_classifier_is_measured_by_its_labels_too(tmp_path: Path) -> None:
    values = Quantized("bert_classifier", "fp8", tmp_path).gate()
    assert values["figures"]["labels"] == 3
    assert 0 <= values["figures"]["label_agreement"] <= 1


def test_a_decoder_that_is_served_as_an_encoder_is_measured_as_one(tmp_path: Path) -> None:
    quantized = Quantized("qwen3", "fp8", tmp_path, base_model="encoder")
    assert quantized.gate()["kind"] == "encoder"


def answers(*vectors: list[float], logits: list[list[float]]) -> list[encoding.Answer]:
    return [
        encoding.Answer(vector=torch.tensor(vector), scores=torch.tensor([scores]))
        for vector, scores in zip(vectors, logits, strict=True)
    ]


def test_one_label_of_a_few_may_change_and_two_may_not() -> None:
    vectors = [[1.0, 0.0]] * 8
    before = answers(*vectors, logits=[[1.0, 0.0]] * 8)
    one = answers(*vectors, logits=[[0.0, 1.0]] + [[1.0, 0.0]] * 7)
    two = answers(*vectors, logits=[[0.0, 1.0]] * 2 + [[1.0, 0.0]] * 6)
    assert verdicts.of_encoder(encoding.compare(before, one), Gate()) is None
    failure = verdicts.of_encoder(encoding.compare(before, two), Gate())
    assert failure is not None
    assert "label agreement" in failure.failure.sentence


def test_a_reranker_is_judged_by_how_far_its_scores_move() -> None:
    vectors = [[1.0, 0.0]] * 2
    before = answers(*vectors, logits=[[0.0], [2.0]])
    near = encoding.compare(before, answers(*vectors, logits=[[0.01], [2.01]]))
    far = encoding.compare(before, answers(*vectors, logits=[[1.0], [2.0]]))
    assert verdicts.of_encoder(near, Gate()) is None
    assert verdicts.of_encoder(far, Gate()) is not None


def test_a_model_compared_with_itself_has_not_drifted() -> None:
    from transformers import LlamaForCausalLM

    from tests.tiny_families import FAMILIES

    torch.manual_seed(0)
    model = LlamaForCausalLM(FAMILIES["llama"].config()).eval()
    samples = [[5, 6, 7, 8, 9], [10, 11, 12]]
    readings = generation.read_original(model, samples, lambda: None)
    result = generation.compare(model, samples, readings, lambda: None)
    assert result.change == pytest.approx(0)
    assert result.drift == pytest.approx(0, abs=1e-5)
    assert result.same_choice == 1
    assert result.ratios == pytest.approx((1, 1))


def test_the_output_holds_the_held_out_samples_and_not_the_calibration_text(
    kv: Quantized,
) -> None:
    stored = json.loads((kv.calibrate / "samples.json").read_bytes())
    assert len(stored["held_out"]) == 8
    assert len(stored["used_keys"]) == 16
    assert not any(
        "samples" in each.path
        for each in outputs.read(kv.calibrate).files
        if each.path.startswith("model/")
    )


def result(**changes: float) -> generation.GenerationResult:
    figures: dict[str, Any] = {
        "perplexity_original": 24.7, "perplexity_quantized": 25.0, "drift": 0.033,
        "same_choice": 0.88, "places": 1939, "perplexity_guessed": 3_700.0, "ratios": (1.01,),
    }  # fmt: skip
    return generation.GenerationResult(**figures | changes)


def test_a_better_perplexity_does_not_pass_a_model_that_chooses_otherwise() -> None:
    assert verdicts.of_generation(result(), Gate()) is None
    failure = verdicts.of_generation(result(perplexity_quantized=24.0, same_choice=0.26), Gate())
    assert failure is not None
    assert (failure.failure.code, failure.failure.field) == (
        "EHG-CHOICE",
        "enginehouse.gate.min_same_choice",
    )
    assert "at 26.0% of held-out text; the limit is 75.0%" in failure.failure.sentence
    assert "lower the limit" in failure.failure.hint
    assert verdicts.of_generation(result(same_choice=0.26), Gate(min_same_choice=0.2)) is None


def test_a_better_perplexity_does_not_pass_a_model_that_drifts() -> None:
    failure = verdicts.of_generation(result(perplexity_quantized=24.0, drift=0.4), Gate())
    assert failure is not None
    assert failure.failure.code == "EHG-DRIFT"
    assert "0.4000 nats per token; the limit is 0.1500" in failure.failure.sentence
    assert verdicts.of_generation(result(drift=0.4), Gate(max_logit_drift_nats=0.5)) is None


def test_what_fp4_leaves_of_a_small_model_is_beyond_each_of_the_limits() -> None:
    # Measured on SmolLM2-135M.
    lost = result(
        perplexity_original=42.13, perplexity_quantized=59.33, drift=0.3496, same_choice=0.6308
    )
    loosened: dict[str, float] = {}
    for code, limit in {
        "EHG-PERPLEXITY": {"max_perplexity_increase": 0.5},
        "EHG-DRIFT": {"max_logit_drift_nats": 0.5},
        "EHG-CHOICE": {"min_same_choice": 0.5},
    }.items():
        failure = verdicts.of_generation(lost, Gate(**loosened))
        assert failure is not None
        assert failure.failure.code == code
        loosened |= limit
    assert verdicts.of_generation(lost, Gate(**loosened)) is None
