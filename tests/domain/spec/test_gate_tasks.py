"""`enginehouse.gate.tasks`: what it takes, and what it refuses at its place."""

from typing import Any

import pytest

from controlplane.domain.facts.calibration_sets import data_sets
from controlplane.domain.spec import Spec, parse_mapping
from controlplane.domain.spec.parse import ParseResult

DEFINITION = {
    "output_type": "multiple_choice",
    "doc_to_text": "{{prompt}}",
    "doc_to_choice": "choices",
    "doc_to_target": "answer",
}
OWN = {"dataset": "team/questions", "definition": DEFINITION}


def parsed(tasks: dict[str, Any]) -> ParseResult:
    repository = {"source": "LOCAL", "repo": "/checkpoints/example"}
    build = {"checkpoint_repository": repository, "quantization_type": "fp8"}
    return parse_mapping({"trt_llm": {"build": build}, "enginehouse": {"gate": {"tasks": tasks}}})


def test_tasks_of_both_kinds_are_read_and_stored_and_read_again() -> None:
    spec = parsed({"arc_easy": {"limit": 100, "max_loss": 0.1}, "own": OWN}).spec
    assert spec is not None
    again = Spec.model_validate(spec.model_dump(mode="json"))
    assert again.settings.gate.tasks == spec.settings.gate.tasks
    assert list(again.settings.gate.tasks) == ["arc_easy", "own"]
    assert data_sets(again)[1:] == ("team/questions",)


@pytest.mark.parametrize(
    ("limits", "allowed"),
    [({}, 0.02), ({"max_loss": 0.1}, 0.1), ({"max_loss_share": 0.1}, None), ({"max_loss": 0}, 0)],
)
def test_two_points_may_be_lost_unless_a_limit_says_otherwise(
    limits: dict[str, float], allowed: float | None
) -> None:
    spec = parsed({"arc_easy": limits}).spec
    assert spec is not None
    assert spec.settings.gate.tasks["arc_easy"].allowed_loss == allowed


@pytest.mark.parametrize(
    ("task", "field"),
    [
        ({"dataset": "team/questions"}, ""),
        ({"definition": DEFINITION}, ""),
        ({"limit": 0}, ".limit"),
        ({"max_loss": 1.5}, ".max_loss"),
        ({**OWN, "definition": {**DEFINITION, "dataset_path": "json"}}, ".definition.dataset_path"),
        ({**OWN, "definition": {**DEFINITION, "metric_list": [{"metric": "code_eval"}]}},
         ".definition.metric_list.0.metric"),
        ({**OWN, "definition": {**DEFINITION, "filter_list": [
            {"name": "x", "filter": [{"function": "custom"}]}]}},
         ".definition.filter_list.0.filter.0.function"),
    ],
)  # fmt: skip
def test_what_no_task_can_be_is_an_error_at_its_place(task: dict[str, Any], field: str) -> None:
    parse_result = parsed({"mine": task})
    assert parse_result.spec is None
    assert [each.path for each in parse_result.errors] == [f"enginehouse.gate.tasks.mine{field}"]


@pytest.mark.parametrize("name", ["../tasks/arc.yaml", "a/b", "", "*"])
def test_a_name_is_no_path_and_no_pattern(name: str) -> None:
    assert parsed({name: {}}).spec is None
