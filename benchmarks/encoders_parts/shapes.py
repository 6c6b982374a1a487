"""Encoders of known shapes with random weights, and texts of so many tokens for them."""

import json
import random
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

_FILES = ("tokenizer.json", "tokenizer_config.json", "vocab.txt", "special_tokens_map.json")
_WORDS = ("time", "year", "people", "way", "day", "man", "thing", "woman", "life", "child", "world",
          "school", "state", "family", "student", "group", "country", "problem", "hand", "part",
          "place", "case", "week", "company", "system", "program", "question", "work", "number",
          "night", "point", "home", "water", "room", "mother", "area", "money")  # fmt: skip
"""Each is one token of BERT's English vocabulary."""

_BERT = {
    "hidden_size": 1024, "intermediate_size": 4096, "num_hidden_layers": 24,
    "num_attention_heads": 16, "max_position_embeddings": 512, "pad_token_id": 0,
}  # fmt: skip


class Shape(NamedTuple):
    """A class of Transformers and its numbers."""

    architecture: str
    config: Mapping[str, Any]
    pooling: str | None
    """How sentence-transformers pools it; none for a reranker."""


SHAPES: Mapping[str, Shape] = {
    "bge_large": Shape("BertModel", {**_BERT, "vocab_size": 30522}, "cls"),
    "qwen3_embedding_0_6b": Shape(
        "Qwen3ForCausalLM",
        {
            "vocab_size": 151669, "hidden_size": 1024, "intermediate_size": 3072,
            "num_hidden_layers": 28, "num_attention_heads": 16, "num_key_value_heads": 8,
            "head_dim": 128, "max_position_embeddings": 32768, "tie_word_embeddings": True,
            "pad_token_id": 0, "bos_token_id": 101, "eos_token_id": 102,
        },
        "lasttoken",
    ),
    "reranker_0_6b": Shape(
        "XLMRobertaForSequenceClassification",
        {
            **_BERT, "vocab_size": 250002, "max_position_embeddings": 514, "pad_token_id": 1,
            "type_vocab_size": 1, "num_labels": 1,
        },
        None,
    ),
}  # fmt: skip
"""From the public config.json of BAAI/bge-large-en-v1.5, Qwen/Qwen3-Embedding-0.6B and
BAAI/bge-reranker-v2-m3, read 2026-11-29."""


def write_checkpoint(
    name: str, folder: Path, tokenizer: Path, changes: Mapping[str, Any] | None = None
) -> Path:
    """Fill the folder with a checkpoint of a shape in bfloat16, its tokenizer another folder's."""
    import torch
    import transformers

    shape = SHAPES[name]
    model_class = getattr(transformers, shape.architecture)
    torch.manual_seed(0)
    torch.set_default_dtype(torch.bfloat16)
    try:
        config = model_class.config_class(**{**shape.config, **(changes or {})})
        model_class(config).save_pretrained(folder)
    finally:
        torch.set_default_dtype(torch.float32)
    for each in _FILES:
        if (tokenizer / each).exists():
            shutil.copyfile(tokenizer / each, folder / each)
    if shape.pooling:
        _write_sentence_files(folder, shape.pooling, config.hidden_size)
    return folder


def text(tokens: int, seed: int) -> str:
    """Give back a text of so many tokens of BERT's vocabulary, its two ends counted."""
    return " ".join(random.Random(seed).choices(_WORDS, k=max(1, tokens - 2)))


def _write_sentence_files(folder: Path, pooling: str, size: int) -> None:
    package = "sentence_transformers.models"
    kinds = ("Transformer", "Pooling", "Normalize")
    _write(folder / "modules.json", [
        {"idx": at, "name": str(at), "path": f"{at}_{kind}" if at else "",
         "type": f"{package}.{kind}"}
        for at, kind in enumerate(kinds)
    ])  # fmt: skip
    modes = {"cls": "pooling_mode_cls_token", "lasttoken": "pooling_mode_lasttoken"}
    flags = {flag: mode == pooling for mode, flag in modes.items()}
    _write(folder / "1_Pooling/config.json", {
        "word_embedding_dimension": size, "pooling_mode_mean_tokens": False, **flags,
    })  # fmt: skip
    _write(folder / "sentence_bert_config.json", {"max_seq_length": 512})


def _write(path: Path, content: object) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(content))
