"""Tasks at the gate of a real checkpoint, by lm-eval itself."""

import json
from pathlib import Path
from typing import Any

import pytest
from lm_eval.api.task import ConfigurableTask

from controlplane.domain.spec.gate_tasks import TaskDefinition
from controlplane.domain.step_results import FetchResult
from tests.workers.build_steps.gated import Quantized
from tests.workers.build_steps.gating.tasks.asking import CHOOSE, WRITE, own, write_rows
from tests.workers.build_steps.quantizing import run_here
from tests.workers.build_steps.supervising import Supervisor
from workers.build_steps import outputs
from workers.build_steps.child import OutcomeKind, Verdict
from workers.build_steps.failures import StepFailure
from workers.build_steps.gating.tasks import harness
from workers.build_steps.gating.tasks.definitions import task_config
from workers.build_steps.gating.tasks.opening import digest_of_questions

pytestmark = [pytest.mark.engine, pytest.mark.filterwarnings("ignore")]


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    return write_rows(tmp_path / "rows.jsonl")


def gated(kv: Quantized, rows: Path, tasks: dict[str, Any]) -> dict[str, Any]:
    return kv.gate(kv.with_gate(tasks=tasks), local_checkpoint_roots=[str(rows.parent)])


def refused(kv: Quantized, rows: Path, tasks: dict[str, Any]) -> Any:
    with pytest.raises(StepFailure) as raised:
        gated(kv, rows, tasks)
    return raised.value.failure


def test_a_worker_without_the_harness_says_so_before_anything_is_downloaded(
    kv: Quantized, rows: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(harness, "PACKAGE", "lm_eval_that_nobody_has")
    spec = kv.with_gate(tasks={"arc_easy": {}})
    folder = rows.parent / "fetched"
    with pytest.raises(StepFailure) as raised:
        run_here("fetch", spec, folder, {"local_checkpoint_roots": [str(kv.original)]})
    assert raised.value.failure.code == "EHG-HARNESS"
    assert "pip install 'enginehouse[gate-tasks]'" in raised.value.failure.hint
    assert not (folder / "model").exists()


def test_a_gate_that_is_off_needs_no_harness(
    kv: Quantized, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(harness, "PACKAGE", "lm_eval_that_nobody_has")
    assert kv.gate(kv.with_gate(enabled=False, tasks={"arc_easy": {}}))["state"] == "unmeasured"


def test_both_models_do_tasks_of_the_users_own_rows(kv: Quantized, rows: Path) -> None:
    values = gated(kv, rows, {"choose": own(rows, limit=12), "write": own(rows, WRITE, limit=4)})
    assert (values["state"], values["failure"]) == ("passed", None)
    choose, write = values["tasks"]
    assert (choose["task"], choose["metric"], choose["questions"]) == ("choose", "acc", 12)
    assert 0 < choose["original"] < 1
    assert set(choose["others"]) == {"acc_norm"}
    assert choose["loss"] == pytest.approx(choose["original"] - choose["quantized"], abs=1e-6)
    assert (write["metric"], write["questions"]) == ("exact_match,trimmed", 4)
    assert values["harness"] == harness.harness_version()


def test_a_loss_over_its_limit_fails_the_gate_with_its_figures(kv: Quantized, rows: Path) -> None:
    # Rounding moves the perplexity of answers to one side: of these two tasks one has lost.
    tasks = {
        name: own(rows, likely(higher_is_better=better), max_loss=0.0)
        for name, better in (("more", True), ("less", False))
    }
    values = gated(kv, rows, tasks)
    (lost,) = (each for each in values["tasks"] if each["loss"] > 0)
    assert (values["state"], values["failure"]["code"]) == ("failed", "EHG-TASK-LOSS")
    sentence = values["failure"]["sentence"]
    assert f"`perplexity` of the task `{lost['task']}`" in sentence
    assert f"from {lost['original']:.4f} to {lost['quantized']:.4f} on 16 questions" in sentence
    assert gated(kv, rows, tasks)["tasks"] == values["tasks"], "another answer the second time"


def likely(*, higher_is_better: bool) -> dict[str, Any]:
    metric = {
        "metric": "perplexity",
        "aggregation": "perplexity",
        "higher_is_better": higher_is_better,
    }
    return {
        "output_type": "loglikelihood",
        "doc_to_text": "{{prompt}}",
        "doc_to_target": "{{choices[answer]}}",
        "metric_list": [metric],
    }


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"doc_to_text": "{{ ''.__class__.__mro__ }}"}, "unsafe"),
        ({"doc_to_text": "{{question}}"}, "'question' is undefined"),
    ],
)
def test_a_template_that_no_row_fits_or_that_reaches_out_is_refused(
    change: dict[str, Any], said: str, kv: Quantized, rows: Path
) -> None:
    failure = refused(kv, rows, {"mine": own(rows, {**CHOOSE, **change})})
    assert failure.code == "EHG-TASK-BROKEN"
    assert said in failure.sentence
    assert "`mine`" in failure.sentence


def test_a_figure_that_a_task_lacks_is_refused_with_those_that_it_has(
    kv: Quantized, rows: Path
) -> None:
    failure = refused(kv, rows, {"mine": own(rows, metric="f1")})
    assert failure.code == "EHG-TASK-METRIC"
    assert "it has `acc`, `acc_norm`" in failure.sentence


def test_a_figure_that_a_task_lacks_is_refused_before_anything_is_downloaded(
    kv: Quantized, rows: Path
) -> None:
    spec = kv.with_gate(tasks={"mine": own(rows, WRITE, metric="exact_match,trimed")})
    folder = rows.parent / "fetched"
    roots = {"local_checkpoint_roots": [str(rows.parent), str(kv.original)]}
    with pytest.raises(StepFailure) as raised:
        run_here("fetch", spec, folder, roots)
    assert raised.value.failure.code == "EHG-TASK-METRIC"
    assert "it has `exact_match,trimmed`" in raised.value.failure.sentence
    assert not (folder / "model").exists()


def test_examples_that_are_shown_are_of_the_questions(tmp_path: Path) -> None:
    def digest(shown: int, rows: Path) -> str:
        loaded = {"tasks": {"mine": ConfigurableTask(config=config_of(shown, rows))}}
        return digest_of_questions(loaded, 2)

    def config_of(shown: int, rows: Path) -> dict[str, Any]:
        definition = TaskDefinition.model_validate({**CHOOSE, "num_fewshot": shown})
        contents = [json.loads(each) for each in rows.read_text().splitlines()]
        return task_config("mine", definition, contents)

    many, few = (write_rows(tmp_path / f"{count}.jsonl", count) for count in (8, 4))
    assert digest(0, many) == digest(0, few), "the two that are asked are the same"
    assert len({digest(0, many), digest(1, many), digest(2, many), digest(1, few)}) == 4


def test_questions_are_pinned_by_the_fetch(kv: Quantized, rows: Path, tmp_path: Path) -> None:
    spec = kv.with_gate(tasks={"mine": own(rows)})
    roots = {"local_checkpoint_roots": [str(tmp_path), str(kv.original)]}
    report = run_here("fetch", spec, tmp_path / "fetched", roots).values
    (pinned,) = FetchResult.model_validate(report).tasks
    assert (pinned.dataset, pinned.config) == (str(rows), "mine")
    outputs.seal(kv.fetch, step="fetch", values={**report, "calibration": None}, digests={})
    assert gated(kv, rows, spec["enginehouse"]["gate"]["tasks"])["state"] == "passed"
    rows.write_text(rows.read_text().replace("ferry", "steamer"))
    assert refused(kv, rows, {"mine": own(rows)}).code == "EHC-CHANGED"


@pytest.mark.long
def test_names_are_those_of_the_harness(kv: Quantized, rows: Path) -> None:
    failure = refused(kv, rows, {"arc_eazy": {}})
    assert failure.code == "EHG-TASK-UNKNOWN"
    assert "`arc_easy` was probably meant" in failure.sentence
    failure = refused(kv, rows, {"humaneval": {"limit": 1}})
    assert failure.code in ("EHG-TASK-BROKEN", "EHG-TASK-DATA")
    assert "`humaneval`" in failure.sentence


@pytest.mark.long
def test_a_cancel_in_the_middle_of_a_task_ends_the_step(
    kv: Quantized, supervisor: Supervisor, tmp_path: Path
) -> None:
    rows = write_rows(tmp_path / "many.jsonl", 400)
    supervisor.roots = (str(tmp_path),)
    job = supervisor.job(
        "gate", kv.with_gate(tasks={"many": own(rows, WRITE)}),
        fetch=kv.fetch, calibrate=kv.calibrate,
    )  # fmt: skip
    command = supervisor.command("gate", job)

    def cancel_in_the_middle() -> Verdict:
        answers = [each.done for each in supervisor.progress if each.unit == "answers"]
        return Verdict.CANCEL if any(answers) else Verdict.CONTINUE

    outcome = supervisor.run(command, cancel_in_the_middle)
    assert outcome.kind is OutcomeKind.CANCELLED, supervisor.log.decode()
    assert not supervisor.marked()
