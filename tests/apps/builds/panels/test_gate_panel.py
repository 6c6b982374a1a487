"""The gate's GPU and the calibration in the passport, as the page of a build shows them."""

from typing import Any

import pytest

from apps.builds import examples
from apps.builds.models import Build
from apps.builds.panels.gate import GatePanel, gate_words
from controlplane.domain.gate_result import GateResult
from controlplane.domain.lifecycle import BuildState
from tests.apps.pages import signed_in
from tests.factories import make_artifact, make_build, make_cast, make_finished_build
from tests.folded import folded

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("broker")]
GATE: dict[str, Any] = {
    "state": "passed",
    "failure": None,
    "limits": {"max_perplexity_increase": 0.06, "max_agreement_loss": 0.01},
    "measured_by": "emulation of the exported files",
    "note": None,
    "kind": "generation",
    "evaluation": {"dataset": "enginehouse/general", "held_out": True, "samples": 8},
    "figures": {
        "perplexity_original": 20.19,
        "perplexity_quantized": 20.96,
        "perplexity_change": 0.0381,
        "logit_drift_nats": 0.0123,
        "same_choice": 0.971,
    },
    "worst": [{"perplexity_ratio": 1.2345, "tokens": 64, "text": "<b>not bold</b>"}],
}
CALIBRATION = {
    "dataset": "enginehouse/general",
    "config": None,
    "split": "train",
    "revision": f"sha256:{'ab' * 32}",
    "size_asked": 1024,
    "used": 62,
    "held_out": 8,
    "skipped_empty": 1,
    "skipped_short": 2,
    "skipped_duplicate": 0,
    "max_length": 256,
    "seed": 42,
}
QUANTIZATION = {
    "quantization_type": "fp8",
    "quant_algo": "FP8",
    "layers_quantized": 210,
    "kv_cache_dtype": "16-bit",
    "device": "CPU, 2 threads",
}


def panel_of(gate: dict[str, Any]) -> GatePanel:
    return GatePanel(result=GateResult.model_validate(gate))


def words_of(gate: dict[str, Any] | str) -> str:
    return gate_words(gate if isinstance(gate, str) else GateResult.model_validate(gate))


def page_of(gate: dict[str, Any], **passport: Any) -> str:
    cast = make_cast()
    artifact = make_artifact(team=cast.team, passport={"format": 1, "gate": gate} | passport)
    build: Build = make_finished_build(team=cast.team, artifact=artifact)
    build.steps.create(name="gate", position=9, state="finished", result=gate)
    content: bytes = signed_in(cast.owner).get(f"/builds/{build.number}/").content
    return content.decode()


def test_the_gate_shows_its_figures_beside_the_limit_and_the_worst_samples_as_text() -> None:
    page = page_of(GATE | {"compute_dtype": "bfloat16"})
    assert "emulation of the exported files, computed in bfloat16" in page
    for shown in ("20.19", "20.96", "+3.8\u202f%", "+6.0\u202f%", "0.0123 nats", "97\u202f%"):
        assert shown in page, shown
    assert "8 held-out samples of enginehouse/general" in page
    assert "perplexity × 1.234" in page
    assert "&lt;b&gt;not bold&lt;/b&gt;" in page
    assert "<b>not bold</b>" not in page


def test_drift_and_choice_have_limits_of_their_own() -> None:
    limits = GATE["limits"] | {"max_logit_drift_nats": 0.15, "min_same_choice": 0.75}
    device = panel_of(GATE | {"limits": limits})
    assert [each.limit for each in device.figures] == [
        "+6.0\u202f%",
        "0.1500 nats",
        "at least 75\u202f%",
    ]


def test_what_was_not_measured_is_called_unmeasured_with_the_reason() -> None:
    page = page_of({"state": "unmeasured", "reason": "The gate is off.", "limits": {}})
    assert ">unmeasured</span>" in page
    assert "The gate is off." in page
    assert "<th>Measure</th>" not in page


def test_figures_of_a_checkpoint_that_guesses_are_shown_with_the_reason() -> None:
    reason = "The checkpoint `org/random` itself is not clearly better than guessing."
    gate = GATE | {"state": "unmeasured", "reason": reason}
    page = page_of(gate)
    assert ">unmeasured</span>" in page
    assert "org/random" in page
    assert "20.19" in page
    assert words_of(gate) == "unmeasured"


@pytest.mark.parametrize(
    ("kind", "label"), [("generation", "Perplexity"), ("encoder", "Mean cosine")]
)
@pytest.mark.parametrize("limits", [None, {}, GATE["limits"]])
def test_figures_without_limits_and_those_that_were_not_finite_are_shown(
    kind: str, label: str, limits: dict[str, float] | None
) -> None:
    agreement = {"mean_cosine": None, "label_agreement": 0.995}
    worst = [{"tokens": 1, "text": "short"}, {"tokens": 1, "text": "", "cosine": None}]
    gate = GATE | {"kind": kind, "limits": limits, "worst": worst}
    figures = dict.fromkeys(GATE["figures"]) | agreement
    page = page_of(gate | {"figures": figures})
    assert f">{label}<" in page
    assert words_of(gate | {"figures": agreement}).startswith("passed")


def test_an_encoder_is_measured_by_cosine_and_agreement() -> None:
    figures = {"mean_cosine": 0.99812, "label_agreement": 0.995, "labels": 2}
    worst = [{"cosine": 0.91, "tokens": 9, "text": "short"}]
    device = panel_of(GATE | {"kind": "encoder", "figures": figures, "worst": worst})
    assert [(each.label, each.measured, each.limit) for each in device.figures] == [
        ("Mean cosine", "0.9981", "at least 0.9900"),
        ("Label agreement", "0.9950", "at least 0.9900"),
    ]
    assert device.worst[0].figure == "cosine 0.9100"


TASK = {
    "task": "arc_easy", "metric": "acc_norm", "original": 0.715, "quantized": 0.705, "loss": 0.01,
    "higher_is_better": True, "questions": 200, "max_loss": 0.02, "max_loss_share": None,
    "others": {"acc": {"original": 0.7, "quantized": 0.7}},
}  # fmt: skip


def test_tasks_are_shown_beside_perplexity_and_named_in_the_passport() -> None:
    gate = GATE | {"tasks": [TASK], "harness": "0.4.13"}
    page = page_of(gate)
    about = "<span>arc_easy</span><br><small>acc_norm, 200 questions</small>"
    for shown in (about, "0.7150", "0.7050", "-0.0100", "-0.0200"):
        assert shown in page, shown
    assert words_of(gate).endswith("arc_easy, acc_norm, 200 questions -0.0100, limit -0.0200")


@pytest.mark.parametrize(
    ("change", "measured", "limit"),
    [
        ({}, "-0.0100", "-0.0200"),
        ({"max_loss": None, "max_loss_share": 0.05}, "-0.0100 (-1.4\u202f%)", "-5.0\u202f%"),
        ({"max_loss_share": 0.05}, "-0.0100 (-1.4\u202f%)", "-0.0200 and -5.0\u202f%"),
        ({"higher_is_better": False}, "-0.0100", "+0.0200"),
    ],
)
def test_the_limit_of_a_task_says_which_way_it_may_go(
    change: dict[str, Any], measured: str, limit: str
) -> None:
    figure = panel_of(GATE | {"tasks": [TASK | change]}).figures[-1]
    assert (figure.measured, figure.limit) == (measured, limit)


def test_a_task_keeps_the_letters_of_its_name() -> None:
    assert "; Support-QA, acc_norm, " in words_of(GATE | {"tasks": [TASK | {"task": "Support-QA"}]})


def test_the_passport_tells_what_was_calibrated_on_what() -> None:
    page = page_of(GATE, calibration=CALIBRATION, quantization=QUANTIZATION)
    assert "fp8: FP8 in 210 layers, KV cache 16-bit, on CPU, 2 threads" in page
    assert "enginehouse/general (train)" in page
    assert CALIBRATION["revision"] in page
    assert (
        "62 of 1\u202f024, 1 empty, 2 too short skipped, 8 held out, up to 256 tokens, seed 42"
        in page
    )
    assert words_of(GATE) == "passed: perplexity +3.8\u202f%, limit +6.0\u202f%"
    assert "<dt>Quality gate</dt>" not in page, "which has a GPU of its own"


def test_an_unquantized_passport_says_unmeasured() -> None:
    assert words_of("unmeasured") == "unmeasured"


def test_a_build_that_the_gate_stopped_is_promoted_from_its_page() -> None:
    cast = make_cast()
    failure = {"code": "EHG-PERPLEXITY", "blame": "configuration", "sentence": "It rose."}
    build = make_build(team=cast.team, state=BuildState.FAILED, failure=failure)
    result = GATE | {"state": "failed", "failure": failure}
    build.steps.create(name="gate", position=9, state="failed", result=result)
    client = signed_in(cast.owner)
    address = f"/builds/{build.number}/"
    assert "Promote anyway" in client.get(address).content.decode()
    client.post(f"{address}promote/", {"reason": "<i>fine</i>"})
    page = client.get(address).content.decode()
    assert f"Promoted by {cast.owner.email}: &lt;i&gt;fine&lt;/i&gt;" not in page
    build.steps.filter(name="gate").update(state="reused", result=result)
    page = client.get(address).content.decode()
    assert f"Promoted by {cast.owner.email}: &lt;i&gt;fine&lt;/i&gt;" in page
    assert "Promote anyway" not in page


def test_the_page_says_that_nothing_here_has_run_what_is_fp4() -> None:
    note = "No GPU here computes in FP4: the figures are emulated, and nothing here has run this."
    page = page_of(GATE | {"note": note, "runs_here": False}, quantization=QUANTIZATION)
    assert note in page


def test_the_first_answer_tells_what_is_emulated_and_how_an_encoder_answered() -> None:
    cast = make_cast()
    build: Build = make_finished_build(team=cast.team)
    result = {
        "kind": "encoder",
        "question": "A cat sleeps on the mat.",
        "answer": "Vectors of 384 numbers.",
        "answer_seconds": 0.25,
        "engine": {"emulated": ["FP8 weights of 36 layers are expanded to float32"]},
    }
    build.steps.filter(name="smoke_test").delete()
    build.steps.create(name="smoke_test", position=10, state="finished", result=result)
    page = signed_in(cast.owner).get(f"/builds/{build.number}/").content.decode()
    assert "answered after 250\u202fms" in page
    assert "Vectors of 384 numbers." in page
    assert "Emulated on this machine: FP8 weights of 36 layers" in page
    assert "tokens/s" not in page


def test_a_build_that_took_an_artifact_leads_to_the_samples_of_the_one_that_made_it() -> None:
    cast = make_cast()
    made: Build = make_finished_build(team=cast.team)
    passport = {"format": 1, "built": {"build_id": made.id}}
    artifact = make_artifact(team=cast.team, passport=passport)
    took: Build = make_finished_build(team=cast.team, artifact=artifact)
    told = CALIBRATION | {"tokens": 900, "rows_read": 80, "max_length_asked": 256}
    took.steps.create(name="calibrate", position=9, state="reused", result={"calibration": told})
    page = folded(signed_in(cast.owner).get(f"/builds/{took.number}/").content.decode())
    assert f'the samples are on <a href="/builds/{made.number}/">build {made.number}</a>' in page


def test_adapters_are_in_passport_gate_and_first_answer() -> None:
    cast = make_cast()
    adapter = {"name": "legal", "source": "S3", "repo": "s3://weights/legal", "commit": "1" * 40}
    artifact = make_artifact(team=cast.team, passport={"format": 1, "adapters": [adapter]})
    build: Build = make_finished_build(team=cast.team, artifact=artifact)
    gate = GATE | {"adapters_left_out": ["legal"]}
    build.steps.create(name="gate", position=9, state="finished", result=gate)
    asked = {"name": "legal", "answer": "<i>Objection</i>", "first_token_seconds": 0.2}
    step, _ = build.steps.get_or_create(name="smoke_test", defaults={"position": 10})
    step.state = "finished"
    rates = {"first_token_seconds": 0.1, "tokens_per_second": 9.5}
    step.result = {"kind": "generation", "answer": "Hello.", "adapters": [asked], **rates}
    step.save()
    person = signed_in(cast.owner)
    page = folded(person.get(f"/builds/{build.number}/").content.decode())
    assert "so it measures without the adapters: legal" in page
    assert "&lt;i&gt;Objection" in page
    passport = folded(person.get(f"/artifacts/{artifact.id}/").content.decode())
    for each in (page, passport):
        assert "Adapter legal" in each
        assert "s3://weights/legal at 1111111111111111" in each


def test_the_example_of_the_rest_reference_reads_as_a_device() -> None:
    words = words_of(examples.PASSPORT["gate"])
    assert words.startswith("passed: perplexity +3.8"), words
    assert len(panel_of(examples.GATE).worst) == 1
