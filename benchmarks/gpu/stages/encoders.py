"""Encoders under vLLM: vectors, a reranker and a classifier, beside Transformers' own answers."""

import math
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import httpx2

from benchmarks.gpu.product import Missed, Show
from benchmarks.gpu.stages import serving
from benchmarks.gpu.stages.building import told

_CONFIG = """\
model_name: {name}
resources:
  accelerator: {device}
trt_llm:
  build:
    base_model: encoder_bert
    checkpoint_repository: {{source: LOCAL, repo: {name}}}
    max_seq_len: 512
enginehouse:
  runtime: vllm
"""
_QUERY = "Which city is the capital of France?"
_TEXTS = ("Paris is the capital of France.", "Bread is baked in an oven.", _QUERY)


def embedder(show: Show) -> dict[str, Any]:
    """MiniLM's vectors of three texts through the gateway, and their cosines to Transformers'."""
    folder = _checkpoint(show, "minilm", _copied)
    body = {"model": folder.name, "input": list(_TEXTS)}
    seen = _shown(show, folder, "/v1/embeddings", body)
    vectors = [each["embedding"] for each in seen["answer"].pop("data")]
    expected = _vectors(folder)
    if [len(each) for each in vectors] != [len(each) for each in expected]:
        raise Missed(f"vectors of {len(vectors[0])} numbers, not of {len(expected[0])}", seen)
    cosines = [_cosine(*pair) for pair in zip(vectors, expected, strict=True)]
    return {**seen, "numbers": len(vectors[0]), "cosines_to_transformers": cosines}


def reranker(show: Show) -> dict[str, Any]:
    """The scores of two texts for a question through the gateway, beside Transformers'."""
    folder = _checkpoint(show, "reranker", _made("make_reranker"))
    body = {"model": folder.name, "query": _QUERY, "documents": list(_TEXTS[:2])}
    seen = _shown(show, folder, "/rerank", body)
    pairs = [(_QUERY, text) for text in _TEXTS[:2]]
    return {**seen, "transformers": [each[0] for each in _scores(folder, pairs)]}


def classifier(show: Show) -> dict[str, Any]:
    """The labels of three texts through the gateway, beside Transformers' probabilities."""
    folder = _checkpoint(show, "classifier", _made("make_classifier"))
    body = {"model": folder.name, "input": list(_TEXTS)}
    seen = _shown(show, folder, "/classify", body)
    return {**seen, "transformers": _scores(folder, list(_TEXTS))}


def _shown(show: Show, folder: Path, route: str, body: dict[str, Any]) -> dict[str, Any]:
    """Return what the build told and what the deployed engine answers; it is taken down again."""
    text = _CONFIG.format(name=folder.name, device=show.device["kind"])
    ended = show.built(folder.name, text)
    seen = {**told(show, ended, text, folder), "runtime": ended["runtime"]}
    seen["deployed"] = serving.deployed(show, folder.name, ended)
    model = show.model(folder.name)
    try:
        answer = _answered(show, show.base_url(model).removesuffix("/v1") + route, body)
    finally:
        seen["taken_down"] = serving.taken_down(show, model)  # the next one needs the GPU
    return {**seen, "answer": answer}


def _answered(show: Show, url: str, body: dict[str, Any]) -> dict[str, Any]:
    headers = {"Authorization": f"Bearer {show.api_key}"}
    with httpx2.Client(trust_env=False, timeout=120) as client:
        answer = client.post(url, json=body, headers=headers)
    if answer.status_code != 200:
        raise Missed(f"the engine answered {answer.status_code}", {"body": answer.text[:2000]})
    content: dict[str, Any] = answer.json()
    return content


def _checkpoint(show: Show, name: str, make: Callable[[Path], Any]) -> Path:
    folder = show.data / "checkpoints" / name
    if not (folder / "config.json").exists():
        folder.mkdir(parents=True, exist_ok=True)
        make(folder)
    return folder


def _copied(folder: Path) -> None:
    from tests.workers.engine.pooling.minilm import minilm

    shutil.copytree(minilm(), folder, dirs_exist_ok=True)


def _made(name: str) -> Callable[[Path], Any]:
    """Return what makes one of the tests' models of MiniLM; torch is imported when it does."""

    def make(folder: Path) -> Any:
        from tests.workers.engine.pooling import minilm

        return getattr(minilm, name)(folder)

    return make


def _vectors(folder: Path) -> list[list[float]]:
    import torch
    from transformers import AutoModel, AutoTokenizer

    tokens = AutoTokenizer.from_pretrained(folder)(list(_TEXTS), padding=True, return_tensors="pt")
    model = AutoModel.from_pretrained(folder, dtype=torch.float32)
    with torch.inference_mode():
        hidden = model(**tokens).last_hidden_state
    mask = tokens["attention_mask"][..., None]
    means = (hidden * mask).sum(1) / mask.sum(1)
    vectors: list[list[float]] = torch.nn.functional.normalize(means).tolist()
    return vectors


def _scores(folder: Path, texts: Sequence[Any]) -> list[list[float]]:
    """Return the probabilities of each text's labels, a sigmoid where there is one."""
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    tokens = AutoTokenizer.from_pretrained(folder)(texts, padding=True, return_tensors="pt")
    model = AutoModelForSequenceClassification.from_pretrained(folder, dtype=torch.float32)
    with torch.inference_mode():
        logits = model(**tokens).logits
    sigmoid = logits.sigmoid() if logits.shape[-1] == 1 else logits.softmax(-1)
    scores: list[list[float]] = sigmoid.tolist()
    return scores


def _cosine(one: Sequence[float], other: Sequence[float]) -> float:
    product = math.fsum(a * b for a, b in zip(one, other, strict=True))
    return product / math.sqrt(math.fsum(a * a for a in one) * math.fsum(b * b for b in other))
