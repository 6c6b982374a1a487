"""What layers of fixed state keep of a request, against a forward pass of each class.

Recorded by `tests/model_classes/record_states.py` from transformers 5.24.
"""

from typing import Any

import pytest

from controlplane.domain.facts import checkpoints
from controlplane.domain.memory.kv_cache import KvLayout, layout_of
from tests.domain.cases import lines

RECORDED = lines("state_sizes.jsonl")
SHOWN = [case for case in RECORDED if case["recurrent"] or case["convolution"]]


def _layout(config: dict[str, Any]) -> KvLayout:
    layout = layout_of(checkpoints.read(config), element_bytes=2)
    assert layout is not None
    return layout


@pytest.mark.parametrize("case", SHOWN, ids=lambda case: case["class"])
def test_a_request_keeps_the_state_that_its_class_keeps(case: dict[str, Any]) -> None:
    assert _layout(case["config"]).state == 4 * case["recurrent"] + 2 * case["convolution"]


def test_seventeen_families_were_asked() -> None:
    assert len(SHOWN) >= 17


def test_recurrent_gemma_keeps_a_window_and_one_number_for_each_of_its_width() -> None:
    layout = _layout({
        "model_type": "recurrent_gemma", "hidden_size": 2560, "num_hidden_layers": 26,
        "num_attention_heads": 10, "num_key_value_heads": 1, "head_dim": 256,
        "intermediate_size": 15_360, "vocab_size": 256_000, "lru_width": 2560,
        "conv1d_width": 4, "attention_window_size": 2048,
        "block_types": ["recurrent", "recurrent", "attention"],
    })  # fmt: skip
    assert layout.unbounded == 0
    assert layout.windowed == ((2048, 8 * 2 * 256 * 2),)
    assert layout.state == 18 * (4 * 2560 + 2 * 3 * 2560)


def test_kimi_linear_says_the_same_in_the_form_of_its_makers() -> None:
    case = next(case for case in RECORDED if case["model_type"] == "kimi_linear")
    config = {k: v for k, v in case["config"].items() if not k.startswith("linear_")}
    theirs = {"num_heads": 32, "head_dim": 128, "short_conv_kernel_size": 4}
    assert _layout({**config, "linear_attn_config": theirs}) == _layout(case["config"])
