"""Random encoders of half a megabyte, one per family, and engines over them."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
import transformers
from starlette.testclient import TestClient
from tokenizers import Tokenizer
from tokenizers.processors import TemplateProcessing
from torch import Tensor

from tests.tiny_checkpoint import VOCABULARY, write_tokenizer
from workers.engine.pooling.engine import PoolingEngine
from workers.engine.server.pooling.app import create_app
from workers.engine.settings import EngineSettings

HIDDEN, POSITIONS = 64, 128
_COMMON: Mapping[str, Any] = {
    "vocab_size": VOCABULARY, "hidden_size": HIDDEN, "intermediate_size": 128,
    "num_hidden_layers": 2, "num_attention_heads": 4, "max_position_embeddings": POSITIONS,
    "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2,
}  # fmt: skip
_DECODER = {"num_key_value_heads": 2, "head_dim": 16}
_AFTER_PADDING = {"max_position_embeddings": POSITIONS + 1, "type_vocab_size": 1}
FAMILIES: Mapping[str, Mapping[str, Any]] = {
    "Albert": {"embedding_size": 32},
    "Bert": {},
    "Camembert": _AFTER_PADDING,
    "DebertaV2": {
        "relative_attention": True, "position_buckets": 16, "pos_att_type": ["p2c", "c2p"],
        "share_att_key": True, "norm_rel_ebd": "layer_norm", "position_biased_input": False,
    },
    "Electra": {"embedding_size": 32},
    "EuroBert": {**_DECODER, "mask_token_id": 3},
    "Gte": {},
    "JinaEmbeddingsV3": {"type_vocab_size": 1},
    "NomicBert": {},
    "Roberta": _AFTER_PADDING,
    "XLMRoberta": _AFTER_PADDING,
    "MPNet": {"max_position_embeddings": POSITIONS + 1},
    "DistilBert": {"dim": HIDDEN, "hidden_dim": 128, "n_heads": 4, "n_layers": 2},
    "ModernBert": {
        "local_attention": 16, "layer_types": ["full_attention", "sliding_attention"],
        "cls_token_id": 1, "sep_token_id": 2, "reference_compile": False,
    },
    "Gemma": _DECODER,
    "Gemma2": {**_DECODER, "sliding_window": 32, "query_pre_attn_scalar": 16},
    "Llama": _DECODER,
    "Mistral": _DECODER,
    "Qwen2": _DECODER,
    "Qwen3": _DECODER,
    "Gemma3Text": {**_DECODER, "sliding_window": 32, "query_pre_attn_scalar": 16},
}  # fmt: skip
TEXTS = (
    "The capital of France is Paris.", "Grüße aus Köln, 你好 🙂", "sea", "def add(left, right):",
    "one two three " * 9,
)  # fmt: skip


def make_encoder(family: str, folder: Path, *, head: str = "Model", **changes: Any) -> Path:
    """Fill `folder` with a checkpoint whose tokenizer frames texts and pairs as BERT's does."""
    torch.manual_seed(0)
    config_class = getattr(transformers, f"{family}Config")
    config = config_class(**{**_COMMON, **FAMILIES[family], **changes})
    model = getattr(transformers, f"{family}{head}")(config)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                # Unit gain per layer: answers differ, so that a broken layer shows.
                parameter.normal_(std=parameter.shape[-1] ** -0.5)
    model.save_pretrained(folder)
    write_tokenizer(folder)
    _frame_texts(folder, has_types=family == "Bert")
    return folder


def write_sentence_files(
    folder: Path, pooling: Mapping[str, Any], *more: str, **named: Any
) -> Path:
    """Add what sentence-transformers would: the steps after the model, prompts, a limit."""
    kinds = ["Transformer", "Pooling", *more]
    package = "sentence_transformers.models"
    if named.pop("sparse", False):
        kinds[:2] = ["MLMTransformer", "SpladePooling"]
        package = "sentence_transformers.sparse_encoder.models"
    modules = [
        {"idx": index, "name": str(index), "path": "" if index == 0 else f"{index}_{kind}",
         "type": f"{package}.{kind}"}
        for index, kind in enumerate(kinds)
    ]  # fmt: skip
    _write(folder / "modules.json", modules)
    _write(
        folder / modules[1]["path"] / "config.json", {"word_embedding_dimension": HIDDEN, **pooling}
    )
    _write(folder / "sentence_bert_config.json", {"max_seq_length": named.pop("max_length", None)})
    _write(folder / "config_sentence_transformers.json", named)
    return folder


@contextmanager
def serving(folder: Path, **settings: Any) -> Iterator[TestClient]:
    """Give a client of an engine over the folder, which computes in float32 on one thread."""
    engine = PoolingEngine(
        EngineSettings(
            model_dir=folder, served_model_name="tiny", **{"dtype": "float32", **settings}
        )
    )
    engine.start()
    try:
        with TestClient(create_app(engine)) as client:
            client.app.state.engine = engine
            yield client
    finally:
        engine.stop()


def vectors(client: TestClient, texts: Sequence[Any], **fields: Any) -> Tensor:
    """Give back what `/v1/embeddings` answers."""
    answer = client.post("/v1/embeddings", json={"input": texts, **fields})
    assert answer.status_code == 200, answer.text
    return torch.tensor([each["embedding"] for each in answer.json()["data"]])


def _frame_texts(folder: Path, *, has_types: bool) -> None:
    path = folder / "tokenizer.json"
    tokenizer = Tokenizer.from_file(str(path))
    start, end = "<|im_start|>", "<|im_end|>"
    second = 1 if has_types else 0
    tokenizer.post_processor = TemplateProcessing(
        single=f"{start} $A {end}",
        pair=f"{start} $A {end} $B:{second} {end}:{second}",
        special_tokens=[(start, 1), (end, 2)],
    )
    tokenizer.save(str(path))
    settings = json.loads((folder / "tokenizer_config.json").read_text())
    settings["model_max_length"] = POSITIONS
    names = ["input_ids", "attention_mask", *(["token_type_ids"] if has_types else [])]
    _write(folder / "tokenizer_config.json", {**settings, "model_input_names": names})


def _write(path: Path, content: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content))
