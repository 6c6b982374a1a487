"""Parameters against every text class of transformers 5.24, made on an empty device.

Recorded by `tests/model_classes/record.py`: the causal, masked, encoder and sequence classification
mappings; each with its defaults and, for each of its forms, with random sizes that were held back.
"""

import math
from typing import Any

import pytest

from controlplane.domain.facts import checkpoints
from controlplane.domain.facts.class_counts import COUNTED_WITHIN, accuracy_of
from controlplane.domain.facts.class_shape import ClassShape, refined, wants_its_class
from controlplane.domain.memory.kv_cache import kv_bytes_per_token
from tests.domain.cases import lines
from tests.model_classes.settings import changed, config_of

RECORDED = lines("model_classes.jsonl")
MADE = [case for case in RECORDED if "parameters" in case]
RIGHT = [case for case in MADE if case["counted_by"]]
OTHERS = [case for case in MADE if not case["counted_by"]]
SHAPES = {
    (each["class"], each["model_type"]): each["shape"] for each in lines("class_shapes.jsonl")
}


def _config(case: dict[str, Any]) -> dict[str, Any]:
    return config_of(case, MADE)


@pytest.mark.parametrize("case", RIGHT, ids=lambda case: f"{case['class']}-{case['model_type']}")
def test_a_class_is_counted_within_half_a_percent(case: dict[str, Any]) -> None:
    config = _config(case)
    for sample in ({"changes": {}, "parameters": case["parameters"]}, *case["samples"]):
        counts = checkpoints.read(changed(config, sample["changes"])).counts
        assert counts is not None
        assert counts.total == pytest.approx(sample["parameters"], rel=COUNTED_WITHIN)
        assert counts.within == COUNTED_WITHIN


@pytest.mark.parametrize("case", OTHERS, ids=lambda case: f"{case['class']}-{case['model_type']}")
def test_another_class_has_no_count_or_says_how_far_off_it_may_be(case: dict[str, Any]) -> None:
    counts = checkpoints.read(_config(case)).counts
    within = accuracy_of(case["class"])
    assert (counts is None) == (within is None)
    if counts is not None and within is not None:
        assert within > COUNTED_WITHIN
        assert math.isclose(counts.total, case["parameters"], rel_tol=within)
        assert counts.within == within


@pytest.mark.parametrize("case", OTHERS, ids=lambda case: f"{case['class']}-{case['model_type']}")
def test_another_class_is_asked_itself_and_then_counted_within_half_a_percent(
    case: dict[str, Any],
) -> None:
    read = checkpoints.read(_config(case))
    assert wants_its_class(read)
    better = refined(read, ClassShape.model_validate(SHAPES[case["class"], case["model_type"]]))
    assert better.parameters == pytest.approx(case["parameters"], rel=COUNTED_WITHIN)
    assert better.counts is not None
    assert better.counts.within == COUNTED_WITHIN
    answer = SHAPES[case["class"], case["model_type"]].get("numbers_a_token")
    assert answer is None or kv_bytes_per_token(better, element_bytes=2) == 2 * answer


def test_the_decoders_whose_cache_their_class_does_not_tell_are_listed() -> None:
    """They look at values as they run, which nothing on an empty device has."""
    silent = {
        name
        for (name, _), shape in SHAPES.items()
        if name.endswith("CausalLM") and shape.get("numbers_a_token") is None
    }
    assert silent == {
        "BailingHybridForCausalLM", "BltForCausalLM", "DeepseekV4ForCausalLM",
        "Dots3NoteForCausalLM", "Gemma4UnifiedAssistantForCausalLM", "Inkling2ForCausalLM",
        "Inkling2LoopForCausalLM", "InklingForCausalLM", "LagunaForCausalLM",
        "RoCBertForCausalLM", "XmodForCausalLM",
    }  # fmt: skip


def test_seven_of_eight_classes_are_counted_right() -> None:
    assert len(RIGHT) >= 7 / 8 * len(MADE)
    assert len(MADE) >= 380
    assert all(case["reason"] for case in OTHERS)


def test_the_parts_are_those_of_the_layers() -> None:
    """Gemma 3n is counted by its class, and the parts that quantization looks at are told apart."""
    case = next(case for case in RIGHT if case["class"] == "Gemma3nForCausalLM")
    counts = checkpoints.read(_config(case)).counts
    assert counts is not None
    assert counts.mlp > counts.attention > 0
    assert counts.tables >= 262_400 * 2048


def test_a_size_that_a_file_leaves_out_is_the_familys_own() -> None:
    case = next(case for case in RIGHT if case["class"] == "AlbertForMaskedLM")
    config = _config(case)
    whole = checkpoints.read(config).counts
    without = checkpoints.read({k: v for k, v in config.items() if k != "embedding_size"}).counts
    assert whole == without
    assert whole is not None


def test_what_a_stranger_writes_for_a_size_does_not_raise() -> None:
    for value in (-1, 0, "many", [1], {"a": 1}, None, True, 1e300):
        for case in RIGHT[::20]:
            config = _config(case)
            checkpoints.read(
                {**config, **dict.fromkeys(config, value), "architectures": [case["class"]]}
            )
