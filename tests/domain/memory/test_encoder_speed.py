"""What is planned of encoders holds what was measured of them."""

import json
from pathlib import Path
from typing import Any

import pytest

from controlplane.domain.facts import checkpoints
from controlplane.domain.facts.checkpoints import CheckpointFacts
from controlplane.domain.memory import plan
from controlplane.domain.memory.encoder_speed import encoder_speed
from controlplane.domain.runtimes import RUNTIMES
from tests.domain.memory.models import device, spec_for

RESULTS = Path(__file__).parents[3] / "benchmarks/results"
_BERT = {
    "hidden_size": 1024, "intermediate_size": 4096, "num_hidden_layers": 24,
    "num_attention_heads": 16, "max_position_embeddings": 512,
}  # fmt: skip
CONFIGS: dict[str, dict[str, Any]] = {
    "bge_large": {
        "model_type": "bert", "architectures": ["BertModel"], "vocab_size": 30522, **_BERT,
    },
    "qwen3_embedding_0_6b": {
        "model_type": "qwen3", "architectures": ["Qwen3ForCausalLM"], "hidden_size": 1024,
        "intermediate_size": 3072, "num_hidden_layers": 28, "num_attention_heads": 16,
        "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 151669,
        "max_position_embeddings": 32768, "tie_word_embeddings": True,
    },
    "reranker_0_6b": {
        "model_type": "xlm-roberta", "architectures": ["XLMRobertaForSequenceClassification"],
        "vocab_size": 250002, **_BERT,
    },
}  # fmt: skip
FP8 = {"quantization_config": {"quant_method": "modelopt", "quant_algo": "FP8"}}


def facts(shape: str) -> CheckpointFacts:
    return checkpoints.read(CONFIGS[shape])


def measured() -> list[tuple[str, str, float, str]]:
    """Shape, side and texts a second of each kept result of large requests."""
    return [
        (path.name, shape, outcome["texts_per_second"], side)
        for path in sorted(RESULTS.glob("encoders*h200*.json"))
        for shape, sides in json.loads(path.read_text()).get("shapes", {}).items()
        for side, outcome in sides.items()
        if side.startswith("native") and "batch_32" in side
    ]


@pytest.mark.parametrize(("name", "shape", "texts_per_second", "side"), measured())
def test_kept_runs_lie_in_the_planned_range(
    name: str, shape: str, texts_per_second: float, side: str
) -> None:
    plain = shape.removesuffix("_fp8")
    planned = encoder_speed(facts(plain), kind="H200", bytes_per_number=1 + (shape == plain))
    assert planned
    outcome = planned.texts_per_second(150)
    assert outcome.low <= texts_per_second <= outcome.high, (name, side)


@pytest.mark.parametrize(("kind", "is_expanded"), [("H200", False), ("A100", True)])
def test_an_fp8_encoder_is_expanded_only_where_no_fp8_is_multiplied(
    kind: str, is_expanded: bool
) -> None:
    spec = spec_for(kind, base_model="encoder")
    memory = RUNTIMES["native"].memory
    plain = plan(spec, facts("bge_large"), device(kind), memory)
    stored = checkpoints.read({**CONFIGS["bge_large"], **FP8})
    fp8 = plan(spec, stored, device(kind), memory)
    assert (fp8.weights_bytes == plain.weights_bytes) == is_expanded
    assert fp8.weights_bytes > plain.weights_bytes * 0.5
    report, before = fp8.to_json()["encoder_speed"], plain.to_json()["encoder_speed"]
    assert (report["texts_per_second"]["high"] > before["texts_per_second"]["high"]) != is_expanded
    assert plain.speed is None


def test_what_an_encoder_held_is_planned_and_not_many_times_as_much() -> None:
    """A text of 16,384 tokens has no scores of each with each where one kernel attends."""
    by_shape = {
        shape: outcome["native_memory_bytes"]
        for path in RESULTS.glob("encoders_*_beside_vllm-h200-*.json")
        for shape, outcome in json.loads(path.read_text())["shapes"].items()
    }
    assert by_shape.keys() == {"bge_large", "qwen3_embedding_0_6b"}
    for shape, held_bytes in by_shape.items():
        kind = "encoder" if shape.startswith("qwen3") else "encoder_bert"
        planned = plan(
            spec_for("H200", base_model=kind), facts(shape), device("H200"),
            RUNTIMES["native"].memory,
        )  # fmt: skip
        parts = planned.weights_bytes + planned.activations_bytes + planned.overhead_bytes
        assert held_bytes < parts < 3 * held_bytes, shape


def test_scores_are_planned_where_a_class_attends_by_itself() -> None:
    shape = {**CONFIGS["bge_large"], "max_position_embeddings": 4096}
    memory, spec = RUNTIMES["native"].memory, spec_for("H200", base_model="encoder")
    fused = plan(spec, checkpoints.read(shape), device("H200"), memory)
    own = plan(spec, checkpoints.read({**shape, "model_type": "mpnet"}), device("H200"), memory)
    assert own.activations_bytes > 2 * fused.activations_bytes
