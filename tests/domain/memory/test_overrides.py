"""`model_kwargs`: the plan counts the length that they make, or says what it does not count."""

import pytest

from controlplane.domain.facts.checkpoints import CheckpointFacts, read
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
        (
            {"max_position_embeddings": 8192, "rope_scaling": {"type": "linear", "factor": 2}},
            16_384,
        ),
        ({"rope_scaling": {"type": "yarn", "factor": 2}, "max_position_embeddings": 4096}, 8192),
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


def test_a_given_length_stays_where_the_checkpoint_says_none() -> None:
    unknown = LLAMA_8B.model_copy(update={"max_positions": None})
    stretch = {"rope_scaling": {"rope_type": "linear", "factor": 2}}
    assert overridden(unknown, stretch).max_positions is None
    assert overridden(unknown, {**stretch, "max_position_embeddings": 4096}).max_positions == 8192


def test_a_given_length_is_multiplied_by_the_checkpoints_own_factor() -> None:
    linear = read(
        {"max_position_embeddings": 4096, "rope_scaling": {"type": "linear", "factor": 4}}
    )
    assert overridden(linear, {"max_position_embeddings": 2048}).max_positions == 8192


def test_what_the_plan_does_not_count_is_said_by_name() -> None:
    given = {"num_hidden_layers": 16, "rope_theta": 1e6, "text_config": {"sliding_window": None}}
    of = example(given)
    findings = [
        each for each in examine(of.content, of.known).report.findings if each.code == "EH522"
    ]
    written = ("model_kwargs.num_hidden_layers", "model_kwargs.text_config.sliding_window")
    assert [each.fields for each in findings] == [
        tuple(f"trt_llm.runtime.patch_kwargs.{path}" for path in written)
    ]
    assert all(f"`{path}`" in findings[0].message for path in written)
