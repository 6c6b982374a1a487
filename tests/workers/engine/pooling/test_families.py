"""Every family answers as sentence-transformers and Transformers do, whatever shares a batch."""

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from starlette.testclient import TestClient
from torch import Tensor
from torch.nn.functional import cosine_similarity
from transformers import AutoTokenizer

from controlplane.domain.runtimes.native.capabilities import POOLED_FAMILIES
from tests.workers.engine.pooling.encoders import (
    FAMILIES,
    POSITIONS,
    TEXTS,
    make_encoder,
    serving,
    vectors,
    write_sentence_files,
)

pytestmark = pytest.mark.engine
READ = (*TEXTS, "word " * 300)
LAST_TOKEN = frozenset({"Gemma", "Gemma2", "Llama", "Mistral", "Qwen2", "Qwen3"})
"""Only their last token has seen the whole text."""
_NAMES = {*dir(transformers)}
"""By which a class is looked for, since to ask for it would import its model."""
KNOWN = [family for family in FAMILIES if f"{family}Model" in _NAMES]
"""To this Transformers: the oldest that is admitted lacks some."""
VARIANTS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    **{family: (family, {}) for family in KNOWN},
    "EmbeddingGemma": ("Gemma3Text", {"use_bidirectional_attention": True}),
    "Qwen2 that sees ahead": ("Qwen2", {"is_causal": False}),
}

HEADS = [
    (family, head)
    for family in KNOWN
    for head in ("ForSequenceClassification", "ForTokenClassification")
    if f"{family}{head}" in _NAMES
]
ONE_OF_A_KIND = frozenset({"Bert", "ModernBert", "Qwen3", "EmbeddingGemma"})
"""Full and local attention, the last token, and a decoder that sees ahead."""
POOLED = [
    each
    if each in ONE_OF_A_KIND or each not in {family for family, _ in HEADS}
    else pytest.param(each, marks=pytest.mark.long)
    for each in VARIANTS
]
"""Whose vectors `make test` compares: of every other family it compares the scores."""


def test_every_family_that_the_engine_says_it_knows_is_compared_here() -> None:
    assert sorted(FAMILIES) == sorted(POOLED_FAMILIES)


@pytest.mark.parametrize("variant", POOLED)
def test_vectors_are_those_of_sentence_transformers(tmp_path: Path, variant: str) -> None:
    family, changes = VARIANTS[variant]
    folder = make_encoder(family, tmp_path, **changes)
    pooling = "lasttoken" if family in LAST_TOKEN and not changes else "mean"
    write_sentence_files(folder, {"pooling_mode": pooling}, "Normalize")
    with serving(folder) as client:
        ours = vectors(client, READ)
    with serving(folder, dtype="bfloat16") as client:
        ours_in_bfloat16 = vectors(client, READ)
    theirs = _encoded(folder, attn_implementation="eager", dtype="float32")
    torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=0)
    theirs_in_bfloat16 = _encoded(folder, dtype="bfloat16")
    assert float(cosine_similarity(ours_in_bfloat16, theirs_in_bfloat16).min()) >= 0.9999


def _encoded(folder: Path, **how: Any) -> Tensor:
    """Encode each text alone, unpadded, with the library itself."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its own, about names of older versions
        from sentence_transformers import SentenceTransformer

        model = SentenceTransformer(str(folder), device="cpu", model_kwargs=how)
        return model.encode(list(READ), batch_size=1, convert_to_tensor=True).float()


POOLED_BY = [
    (family, "ForSequenceClassification", {"classifier_pooling": pooling})
    for family, poolings in {"EuroBert": ("bos", "mean"), "ModernBert": ("mean",)}.items()
    for pooling in poolings
    if family in KNOWN
]


@pytest.mark.parametrize(
    ("family", "head", "changes"), [*((family, head, {}) for family, head in HEADS), *POOLED_BY]
)
def test_scores_are_those_of_transformers(
    tmp_path: Path, family: str, head: str, changes: Mapping[str, Any]
) -> None:
    folder = make_encoder(family, tmp_path, head=head, num_labels=3, **changes)
    with serving(folder) as client:
        scores = _scores(client, head)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = getattr(transformers, f"{family}{head}").from_pretrained(folder).eval()
    for ours, text in zip(scores, READ, strict=True):
        tokens = tokenizer(text, return_tensors="pt", truncation=True, max_length=POSITIONS)
        with torch.inference_mode():
            theirs = model(**tokens).logits[0]
        if theirs.dim() == 2:
            theirs = theirs[1:-1]  # what frames a text is not told
        torch.testing.assert_close(torch.tensor(ours), theirs, atol=1e-5, rtol=1e-5)


def _scores(client: TestClient, head: str) -> Sequence[Any]:
    """Raw scores of each text, or of each of its tokens, in the order of the labels."""
    body = {"inputs": [[text] for text in READ], "raw_scores": True}
    if head == "ForTokenClassification":
        content = client.post("/predict_tokens", json=body).json()
        return [[list(token["results"].values()) for token in text] for text in content]
    content = client.post("/predict", json=body).json()
    by_label = [{each["label"]: each["score"] for each in text} for text in content]
    return [[scores[f"LABEL_{number}"] for number in range(3)] for scores in by_label]
