"""Parameter counts against transformers 5.24, which built each model on an empty device.

Configs: aiconfigurator's copies of public files, and transformers' own defaults; reduced to the
keys that say something about the shape.
"""

from typing import Any

import pytest

from controlplane.domain.facts import checkpoints
from tests.domain.cases import lines

COUNTS = lines("parameter_counts.jsonl")


@pytest.mark.parametrize("case", COUNTS, ids=lambda case: case["model"])
def test_a_family_is_counted_within_one_percent(case: dict[str, Any]) -> None:
    facts = checkpoints.read(case["config"])
    assert facts.counts is not None
    assert facts.counts.total == pytest.approx(case["parameters"], rel=0.01)
    assert facts.parameters == facts.counts.total


def test_a_token_passes_few_of_the_experts() -> None:
    by_model = {case["model"]: checkpoints.read(case["config"]) for case in COUNTS}
    billions_of = {
        "Qwen/Qwen3-235B-A22B": 22, "openai/gpt-oss-120b": 5.1,
        "deepseek-ai/DeepSeek-R1": 37, "Qwen/Qwen3.5-35B-A3B": 3,
    }  # fmt: skip
    for model, billions in billions_of.items():
        counts = by_model[model].counts
        assert counts is not None
        active = (counts.active + counts.tables / 2) / 1e9
        assert active == pytest.approx(billions, rel=0.12), model


def test_prediction_layers_are_counted_apart() -> None:
    case = next(case for case in COUNTS if case["model"].endswith("DeepSeek-R1"))
    counts = checkpoints.read(case["config"]).counts
    assert counts is not None
    assert counts.draft == pytest.approx(11.5e9, rel=0.05)


def test_a_family_that_is_not_described_is_not_counted() -> None:
    shape = {"hidden_size": 1024, "num_hidden_layers": 24, "vocab_size": 32_128, "d_ff": 4096,
             "num_attention_heads": 16}  # fmt: skip
    for model_type in ("t5", "whisper", "rwkv", "deberta-v2", "gemma3n_text"):
        assert checkpoints.read({"model_type": model_type, **shape}).parameters is None
