"""Values of engine arguments that TensorRT-LLM ends at are found before a start."""

from typing import Any

import pytest

from controlplane.domain.rules import examine
from controlplane.domain.rules.examples import on_trtllm
from controlplane.domain.rules.serving.engine_arguments import v2_example


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"guided_decoding_backend": "outlines"}, "names no library"),
        ({"guided_decoding_backend": "llguidance"}, ""),
        ({"speculative_config": {"decoding_type": "NGram", "max_draft_len": 4,
                                 "draft_len_schedule": {"2": 4}}}, "no key 1"),
        ({"speculative_config": {"decoding_type": "NGram", "max_draft_len": 4,
                                 "draft_len_schedule": {"1": 3}}}, "drafts 3 for a batch of one"),
        ({"speculative_config": {"decoding_type": "NGram", "max_draft_len": 4,
                                 "draft_len_schedule": {"1": 4, "8": 5}}}, "leaves the range"),
        ({"speculative_config": {"decoding_type": "NGram", "max_draft_len": 4,
                                 "draft_len_schedule": {"1": 4, "8": 0}}}, ""),
        ({"enable_trtllm_sampler": True,
          "speculative_config": {"decoding_type": "MTP"}}, "do not go together"),
    ],
)  # fmt: skip
def test_a_value_that_ends_the_engine_is_an_error(arguments: dict[str, Any], words: str) -> None:
    example = on_trtllm(v2_example(arguments))
    findings = examine(example.content, example.known).report.findings
    messages = [each.message for each in findings if each.code == "EH687"]
    assert bool(messages) is bool(words)
    assert all(words in each for each in messages)
