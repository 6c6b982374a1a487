"""In float32 the engine says what Transformers says, token for token."""

import random
from pathlib import Path

import pytest
import torch
import transformers

from tests.tiny_checkpoint import VOCABULARY, write_tokenizer
from tests.workers.engine.asking import Asked, start_engine, transformers_greedy

pytestmark = pytest.mark.engine

COMMON = {
    "vocab_size": VOCABULARY,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 512,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "pad_token_id": 0,
    "initializer_range": 0.2,
}
LLAMA3_ROPE = {
    "rope_type": "llama3",
    "rope_theta": 10000.0,
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 64,
}
LONG_ROPE = {
    "rope_type": "longrope",
    "rope_theta": 10000.0,
    "factor": 8.0,
    "original_max_position_embeddings": 64,
    "short_factor": [1.0 + 0.1 * at for at in range(8)],
    "long_factor": [2.0 + 0.5 * at for at in range(8)],
}
UNTIED = {"tie_word_embeddings": False}
"""Gemma's scaled embeddings, tied and random, would repeat a prompt's last token for ever."""
SHAPES = {
    "llama": ("LlamaForCausalLM", {}),
    "llama-tied-rope3": (
        "LlamaForCausalLM", {"tie_word_embeddings": True, "rope_parameters": LLAMA3_ROPE},
    ),
    "qwen2": ("Qwen2ForCausalLM", {}),
    "qwen2-window": (
        "Qwen2ForCausalLM",
        {"use_sliding_window": True, "sliding_window": 16, "max_window_layers": 1},
    ),
    "qwen3": ("Qwen3ForCausalLM", {"head_dim": 32}),
    "mistral": ("MistralForCausalLM", {"sliding_window": None}),
    "mistral-window": ("MistralForCausalLM", {"sliding_window": 16}),
    "gemma2": (
        "Gemma2ForCausalLM",
        {**UNTIED, "head_dim": 16, "query_pre_attn_scalar": 48, "sliding_window": 16,
         "attn_logit_softcapping": 5.0, "final_logit_softcapping": 9.0},
    ),
    "gemma3": (
        "Gemma3ForCausalLM",
        {**UNTIED, "head_dim": 24, "query_pre_attn_scalar": 40, "sliding_window": 16,
         "layer_types": ["sliding_attention", "full_attention", "sliding_attention"]},
    ),
    "phi3": ("Phi3ForCausalLM", {"sliding_window": None}),
    "phi3-window": ("Phi3ForCausalLM", {"sliding_window": 16, "partial_rotary_factor": 0.5}),
    "phi3-longrope": (
        "Phi3ForCausalLM",
        {"sliding_window": None, "rope_parameters": LONG_ROPE,
         "original_max_position_embeddings": 64},
    ),
    "no-groups": ("LlamaForCausalLM", {"num_key_value_heads": 4}),
}  # fmt: skip
PROMPT_LENGTHS = (1, 3, 17, 40, 90)


@pytest.fixture(scope="module", params=SHAPES)
def shape(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _made(request.param, tmp_path_factory.mktemp(request.param))


def _made(name: str, folder: Path) -> Path:
    architecture, changes = SHAPES[name]
    model_class = getattr(transformers, architecture)
    torch.manual_seed(3)
    model_class(model_class.config_class(**{**COMMON, **changes})).save_pretrained(folder)
    write_tokenizer(folder)
    return folder


def test_batched_greedy_equals_generate(shape: Path) -> None:
    prompts = _prompts()
    engine = start_engine(shape)
    asked = [Asked(engine, prompt, max_tokens=30) for prompt in prompts]
    answers = [one.finish().tokens for one in asked]
    engine.stop()
    assert answers == [transformers_greedy(shape, prompt, 30) for prompt in prompts]


def test_alone_and_in_small_pieces_gives_the_same_tokens(shape: Path) -> None:
    prompts = _prompts()
    roomy = start_engine(shape)
    alone = [Asked(roomy, prompt, max_tokens=20).finish().tokens for prompt in prompts]
    roomy.stop()
    narrow = start_engine(shape, max_num_tokens=7, max_batch_size=3)
    asked = [Asked(narrow, prompt, max_tokens=20) for prompt in prompts]
    assert [one.finish().tokens for one in asked] == alone
    narrow.stop()


def test_rows_on_both_sides_of_a_long_rope_share_steps_and_no_tokens(tmp_path: Path) -> None:
    folder = _made("phi3-longrope", tmp_path)
    long = [*_prompts()[-1][:12]] * 7  # repeats, so that much of it is guessed
    prompts = [long[:40], long[:63], long[:64], long[:65], long]
    engine = start_engine(folder, lookahead_ngram=8, max_num_tokens=24)
    asked = [Asked(engine, prompt, max_tokens=40, ignore_eos=True) for prompt in prompts * 2]
    answers = [one.finish().tokens for one in asked]
    engine.stop()
    expected = [transformers_greedy(folder, prompt, 40, min_new_tokens=40) for prompt in prompts]
    assert answers == expected * 2


def _prompts() -> list[list[int]]:
    choice = random.Random(5)
    return [[choice.randrange(3, 390) for _ in range(length)] for length in PROMPT_LENGTHS]
