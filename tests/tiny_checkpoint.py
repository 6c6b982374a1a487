"""A random Llama checkpoint of half a megabyte with a real tokenizer, made without torch."""

import json
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers

SPECIAL_TOKENS = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
CHAT_TEMPLATE = (
    "{% for message in messages %}"
    "{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)
CORPUS = (
    "The capital of France is Paris. The sky is blue and the sea is deep.",
    '{"name": "Ada", "age": 36, "tags": ["one", "two"], "ok": true, "none": null}',
    "Grüße aus Köln, 你好世界, мир, 🙂 naïve café.",
    "def add(left, right):\n    return left + right\n",
)
VOCABULARY = 512
LAYERS, HIDDEN, INTERMEDIATE = 2, 64, 128
HEADS, KV_HEADS, HEAD_DIM = 4, 2, 16
MAX_POSITIONS = 2048


def make_tiny_checkpoint(directory: Path, *, seed: int = 0) -> Path:
    """Fill `directory` with a Llama checkpoint that loads in milliseconds, and give it back."""
    directory.mkdir(parents=True, exist_ok=True)
    write_tokenizer(directory)
    _write_json(directory / "config.json", _config())
    _write_json(directory / "generation_config.json", {"bos_token_id": 1, "eos_token_id": 2})
    save_file(_weights(seed), directory / "model.safetensors", metadata={"format": "pt"})
    return directory


def write_tokenizer(directory: Path) -> None:
    """Train a byte-level BPE on a few lines and store it with a ChatML template."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        special_tokens=[AddedToken(token, special=True) for token in SPECIAL_TOKENS],
        show_progress=False,
    )
    tokenizer.train_from_iterator(CORPUS, trainer)
    tokenizer.save(str(directory / "tokenizer.json"))
    (directory / "chat_template.jinja").write_text(CHAT_TEMPLATE)
    _write_json(
        directory / "tokenizer_config.json",
        {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "bos_token": "<|im_start|>",
            "eos_token": "<|im_end|>",
            "pad_token": "<|endoftext|>",
            "model_max_length": MAX_POSITIONS,
            "clean_up_tokenization_spaces": False,
        },
    )


def _config() -> dict[str, object]:
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "dtype": "float32",
        "vocab_size": VOCABULARY,
        "hidden_size": HIDDEN,
        "intermediate_size": INTERMEDIATE,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "num_key_value_heads": KV_HEADS,
        "head_dim": HEAD_DIM,
        "max_position_embeddings": MAX_POSITIONS,
        "hidden_act": "silu",
        "rms_norm_eps": 1e-5,
        "rope_theta": 10000.0,
        "attention_bias": False,
        "tie_word_embeddings": False,
        "bos_token_id": 1,
        "eos_token_id": 2,
        "pad_token_id": 0,
    }


def _weights(seed: int) -> dict[str, np.ndarray]:
    """Weights wide enough (unit gain per layer) that greedy choices have clear gaps."""
    random = np.random.default_rng(seed)

    def matrix(rows: int, columns: int) -> np.ndarray:
        return (random.standard_normal((rows, columns)) / columns**0.5).astype(np.float32)

    weights = {
        "model.embed_tokens.weight": matrix(VOCABULARY, HIDDEN) * HIDDEN**0.5,
        "model.norm.weight": np.ones(HIDDEN, np.float32),
        "lm_head.weight": matrix(VOCABULARY, HIDDEN) * 2,
    }
    for layer in range(LAYERS):
        prefix = f"model.layers.{layer}."
        weights |= {
            prefix + "self_attn.q_proj.weight": matrix(HEADS * HEAD_DIM, HIDDEN) * 2,
            prefix + "self_attn.k_proj.weight": matrix(KV_HEADS * HEAD_DIM, HIDDEN) * 2,
            prefix + "self_attn.v_proj.weight": matrix(KV_HEADS * HEAD_DIM, HIDDEN),
            prefix + "self_attn.o_proj.weight": matrix(HIDDEN, HEADS * HEAD_DIM),
            prefix + "mlp.gate_proj.weight": matrix(INTERMEDIATE, HIDDEN),
            prefix + "mlp.up_proj.weight": matrix(INTERMEDIATE, HIDDEN),
            prefix + "mlp.down_proj.weight": matrix(HIDDEN, INTERMEDIATE),
            prefix + "input_layernorm.weight": np.ones(HIDDEN, np.float32),
            prefix + "post_attention_layernorm.weight": np.ones(HIDDEN, np.float32),
        }
    return weights


def _write_json(path: Path, content: dict[str, object]) -> None:
    path.write_text(json.dumps(content, indent=2) + "\n")
