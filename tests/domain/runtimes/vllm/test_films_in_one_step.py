"""A family that takes a film whole: the step holds it, where one is served."""

from typing import Any

import pytest

from controlplane.domain.facts import checkpoints
from controlplane.domain.rules import examine
from controlplane.domain.rules.context import context_of
from controlplane.domain.rules.examples import LLAMA_8B, Example, on_vllm
from controlplane.domain.runtimes.vllm.arguments import step_tokens
from controlplane.domain.spec import parse_mapping

_TOKENS = "trt_llm.build.max_num_tokens"
_ARGUMENTS = "enginehouse.vllm_args"
FILM = 2496
GEMMA_4 = checkpoints.read(
    {
        "architectures": ["Gemma4ForConditionalGeneration"], "model_type": "gemma4",
        "vision_config": {"model_type": "gemma4_vision"},
        "text_config": {
            "model_type": "gemma4_text", "hidden_size": 5376, "num_hidden_layers": 60,
            "num_attention_heads": 32, "num_key_value_heads": 16, "head_dim": 256,
            "intermediate_size": 21504, "vocab_size": 262_144,
        },
    }
)  # fmt: skip


@pytest.mark.parametrize(
    ("checkpoint", "asked", "step"),
    [
        (GEMMA_4, {_TOKENS: 512}, FILM),
        (GEMMA_4, {_TOKENS: 4096}, 4096),
        (GEMMA_4, {_TOKENS: 512, _ARGUMENTS: {"language-model-only": True}}, 512),
        (LLAMA_8B, {_TOKENS: 512}, 512),
    ],
)
def test_a_step_holds_a_whole_film_of_gemma_4_alone(
    checkpoint: checkpoints.CheckpointFacts, asked: dict[str, Any], step: int
) -> None:
    config = {"resources.accelerator": "H200", "trt_llm.build.max_batch_size": 64} | asked
    of = on_vllm(Example(config=config, checkpoint=checkpoint))
    spec = parse_mapping(of.content).spec
    assert spec is not None
    assert step_tokens(spec, checkpoint) == step
    used = {each.field: each.effective for each in examine(of.content, of.known).effective}
    assert used.get(_TOKENS, asked[_TOKENS]) == step
    assert context_of(spec, of.known).plan.step_tokens == step
