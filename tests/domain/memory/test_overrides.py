"""`model_kwargs`: the plan counts the length that they make, or says what it does not count."""

import pytest

from controlplane.domain.facts.checkpoints import CheckpointFacts
from controlplane.domain.facts.overrides import overridden
from controlplane.domain.memory import MemoryPlan
from controlplane.domain.rules import examine
from controlplane.domain.rules.context import context_of
from controlplane.domain.rules.examples import LLAMA_8B, QWEN2_7B, Example
from controlplane.domain.rules.serving.engine_arguments import v2_example
from controlplane.domain.spec import parse_mapping

YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32_768}


def example(given: dict[str, object], checkpoint: CheckpointFacts = QWEN2_7B) -> Example:
    config = v2_example({"model_kwargs": given}, **{"enginehouse.runtime": "vllm"}).config
    return Example(config=config, checkpoint=checkpoint)


def plan_of(given: dict[str, object], checkpoint: CheckpointFacts = QWEN2_7B) -> MemoryPlan:
    of = example(given, checkpoint)
    spec = parse_mapping(of.content).spec
    assert spec is not None
    return context_of(spec, of.known).plan


@pytest.mark.parametrize(
    ("given", "tokens"),
    [
        ({}, 32_768),
        ({"max_position_embeddings": 8192}, 8192),
        ({"rope_scaling": YARN}, 131_072),
        ({"rope_parameters": {"rope_type": "linear", "factor": 2}}, 65_536),
        ({"text_config": {"max_position_embeddings": 4096}}, 4096),
        ({"rope_parameters": {"rope_theta": 1e6}}, 32_768),
        ({"rope_scaling": {"rope_type": "yarn", "factor": "four"}}, 32_768),
    ],
)
def test_a_length_left_open_is_planned_at_what_the_overrides_make_it(
    given: dict[str, object], tokens: int
) -> None:
    assert plan_of(given).sequence_tokens == tokens


def test_overrides_laid_over_twice_are_as_once() -> None:
    once = overridden(QWEN2_7B, {"rope_scaling": YARN})
    assert overridden(once, {"rope_scaling": YARN}) == once
    doubled = {"rope_parameters": {"rope_type": "linear", "factor": 2}}
    assert overridden(overridden(LLAMA_8B, doubled), doubled) == overridden(LLAMA_8B, doubled)


def test_what_the_plan_does_not_count_is_said_by_name() -> None:
    of = example({"num_hidden_layers": 16, "rope_theta": 1e6, "sliding_window": None})
    said = [each for each in examine(of.content, of.known).report.findings if each.code == "EH522"]
    assert ["`num_hidden_layers`, `sliding_window` of" in each.message for each in said] == [True]
