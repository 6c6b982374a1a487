"""A search within a budget of bits holds what one was seen to hold, and a little more."""

import pytest

from controlplane.domain.facts.checkpoints import CheckpointFacts
from controlplane.domain.memory.bit_search import bit_search_bytes
from tests.domain.conftest import MakeSpec

SMALL = {"layers": 6, "hidden_size": 512, "intermediate_size": 1408, "vocabulary_size": 1024}


def parameters(shape: dict[str, int]) -> int:
    hidden, matrices = (
        shape["hidden_size"],
        4 * shape["hidden_size"] + 3 * shape["intermediate_size"],
    )
    return shape["layers"] * hidden * matrices + shape["vocabulary_size"] * hidden


@pytest.mark.parametrize(
    ("change", "tokens", "kind", "measured_bytes"),
    [
        ({}, 512, "fp4", 387_002_368),
        ({}, 1024, "fp4", 615_526_400),
        ({"layers": 12}, 512, "fp4", 739_819_520),
        ({"vocabulary_size": 32_000}, 512, "fp4", 682_385_408),
        ({"hidden_size": 1024, "intermediate_size": 2816}, 512, "fp4", 1_011_855_360),
        ({}, 512, "fp8", 229_138_432),
    ],
)
def test_a_search_takes_what_it_was_measured_to(
    make_spec: MakeSpec, change: dict[str, int], tokens: int, kind: str, measured_bytes: int
) -> None:
    """The peak over the loaded model: Llama's shape in float32, ModelOpt 0.47, on 2026-11-30."""
    shape = SMALL | change
    facts = CheckpointFacts(parameters=parameters(shape), **shape)
    target = {"calib_max_seq_length": tokens, "effective_bits": 6.5 if kind == "fp4" else 12}
    spec = make_spec({"quantization_type": kind, "quantization_config": target})
    report = bit_search_bytes(spec, facts, number_bytes=4)
    assert 1 <= report / measured_bytes < 1 + 1 / 6


def test_without_a_budget_nothing_is_searched(make_spec: MakeSpec) -> None:
    spec = make_spec({"quantization_type": "fp4"})
    facts = CheckpointFacts(parameters=parameters(SMALL), **SMALL)
    assert bit_search_bytes(spec, facts, number_bytes=4) == 0
