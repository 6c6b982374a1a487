"""A real process makes a class on the meta device and says what it comes to."""

import json
from pathlib import Path
from typing import Any

import pytest

from workers.class_shapes import asking
from workers.class_shapes.asking import class_shape

pytestmark = [pytest.mark.process, pytest.mark.engine]

QWEN3: dict[str, Any] = {
    "architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "hidden_size": 64,
    "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16,
    "intermediate_size": 128, "vocab_size": 100, "tie_word_embeddings": False,
}  # fmt: skip


def test_a_class_says_its_parameters_and_cache_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shape = class_shape(QWEN3, cache_dir=tmp_path)
    assert shape is not None
    attention = 2 * (64 * (4 + 2 * 2) * 16 + 4 * 16 * 64 + 2 * 16)
    assert shape.parameters["tables"] == 2 * 100 * 64
    assert shape.parameters["attention"] == attention + 2 * 64  # and the norm before it
    assert shape.parameters["mlp"] == 2 * 3 * 64 * 128
    assert (shape.numbers_a_token, shape.numbers_a_request) == (2 * 2 * 2 * 16, 0)

    def asked_again(_: str) -> None:
        raise AssertionError("the answer was kept")

    monkeypatch.setattr(asking, "_answer_of_process", asked_again)
    assert class_shape(QWEN3, cache_dir=tmp_path) == shape


def test_a_config_of_which_no_class_can_be_made_is_no_shape(tmp_path: Path) -> None:
    wrong = {**QWEN3, "hidden_act": "no such function"}
    assert class_shape(wrong, cache_dir=tmp_path) is None
    (kept,) = tmp_path.rglob("shape.json")
    assert json.loads(kept.read_text()) == {}
