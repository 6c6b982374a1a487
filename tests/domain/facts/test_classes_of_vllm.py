"""Every class that a release of vLLM lists is known here, in the releases that have it."""

import json
from pathlib import Path

import pytest

from controlplane.domain.facts.added_architectures import FIRST_IN_VLLM, comes_later
from controlplane.domain.facts.architectures import Role, role_of
from controlplane.domain.facts.drafter_classes import DRAFTERS
from controlplane.domain.facts.known_architectures import is_known_generator
from controlplane.domain.facts.removed_architectures import LAST_IN_VLLM, given_up
from controlplane.domain.facts.unrun_architectures import runs_nowhere_in_vllm
from controlplane.domain.facts.vllm_encoder_classes import lacks_encoder_class

_KEPT = json.loads(
    (Path(__file__).parents[3] / "benchmarks/results/engine_classes-2026-11-30.json").read_text()
)
_CLASSES = _KEPT["classes"]
_GENERATES = ("_TEXT_GENERATION_MODELS", "_MULTIMODAL_MODELS")
_POOLS = (
    "_EMBEDDING_MODELS", "_SEQUENCE_CLASSIFICATION_MODELS", "_TOKEN_CLASSIFICATION_MODELS",
    "_LATE_INTERACTION_MODELS", "_REWARD_MODELS",
)  # fmt: skip


def _of(*sections: str) -> list[str]:
    return [name for name, kept in _CLASSES.items() if kept["section"] in sections]


def test_the_kept_registries_are_those_of_every_version_known_here() -> None:
    assert [*_KEPT["releases"]] == [f"0.{minor}" for minor in range(25, 34)]
    assert len(_of(*_GENERATES)) > 250
    assert len(_of(*_POOLS)) > 60


def test_every_generator_is_known_as_one() -> None:
    assert [each for each in _of(*_GENERATES) if not is_known_generator(each)] == []


def test_every_generator_by_its_name_alone_is_taken_for_one() -> None:
    roles = {each: role_of(each, None, has_vision=False) for each in _of(*_GENERATES)}
    made = (Role.CAUSAL, Role.MULTIMODAL, Role.SPEECH)
    assert {each: role for each, role in roles.items() if role not in made} == {}


def test_what_drafts_for_another_model_is_known_as_that() -> None:
    assert {*_of("_SPECULATIVE_DECODING_MODELS")} == DRAFTERS


def test_no_class_that_pools_is_said_to_be_missing() -> None:
    assert [each for each in _of(*_POOLS) if lacks_encoder_class(each)] == []


@pytest.mark.parametrize("release", _KEPT["releases"])
def test_no_class_of_a_release_is_refused_in_it(release: str) -> None:
    present = [
        name for name, kept in _CLASSES.items()
        if _number(kept["first"]) <= _number(release) <= _number(kept["last"])
    ]  # fmt: skip
    refused = [
        name for name in present
        if comes_later(name, release) or given_up(name, release)
        or runs_nowhere_in_vllm(name, release)
    ]  # fmt: skip
    assert refused == []


def test_what_came_later_and_what_was_given_up_stand_with_the_version_of_the_registries() -> None:
    assert {name: _CLASSES[name]["first"] for name in FIRST_IN_VLLM} == FIRST_IN_VLLM
    kept = {name: last for name, last in _KEPT["given_up"].items() if name in LAST_IN_VLLM}
    assert {name: LAST_IN_VLLM[name] for name in kept} == kept


@pytest.mark.parametrize(
    ("architecture", "version", "later"),
    [
        ("MuseGlimmerForCausalLM", "0.25.1", "0.28"),
        ("MuseGlimmerForCausalLM", "0.28", None),
        ("Step5ForCausalLM", "0.32", "0.33"),
        ("LlamaForCausalLM", "0.25", None),
        (None, "0.25", None),
    ],
)
def test_a_class_comes_later_to_the_versions_before_its_first(
    architecture: str | None, version: str, later: str | None
) -> None:
    assert comes_later(architecture, version) == later


@pytest.mark.parametrize(
    ("architecture", "version", "refused"),
    [
        ("XGLMForCausalLM", "0.33", True),
        ("BioGptForCausalLM", "0.29", True),
        ("BioGptForCausalLM", "0.30", False),
        ("OPTForCausalLM", "0.25", False),
        (None, "0.25", False),
    ],
)
def test_a_class_of_transformers_is_run_where_its_attention_can_be_replaced(
    architecture: str | None, version: str, refused: bool
) -> None:
    assert runs_nowhere_in_vllm(architecture, version) is refused


def test_a_class_is_given_up_after_its_last_version() -> None:
    assert given_up("ArcticForCausalLM", "0.28") is None
    assert given_up("ArcticForCausalLM", "0.29") == "0.28.0"


def _number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))
