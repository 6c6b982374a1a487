"""What an engine makes of an encoder's output: vectors, scores of texts, scores of tokens."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from controlplane.domain.spec.choices import RerankTemplate
from workers.build_steps.quantization.checkpoint import Checkpoint
from workers.build_steps.quantization.loading import Device
from workers.engine.errors import CheckpointRefused
from workers.engine.pooling.dense import load_dense
from workers.engine.pooling.heads import (
    AnswerHead,
    Batch,
    Head,
    SentenceHead,
    SpladeHead,
    score_texts,
    score_tokens,
)
from workers.engine.pooling.sentence import Sentence, read_sentence
from workers.engine.pooling.templates import find_template
from workers.engine.task import Task, read_task


@dataclass(frozen=True, kw_only=True)
class Heads:
    """The engine's own code, as the checkpoint's files ask for it."""

    pooled: Head | None
    """None where the files do not say how texts are pooled."""
    labels: Head | None
    """None for a model that labels nothing."""

    def vector(self, model: Any, batch: Batch) -> Tensor:
        return (self.pooled or _usual_pooling(model))(model, batch)[0]

    def scores(self, model: Any, batch: Batch) -> Tensor | None:
        return (
            None if self.labels is None else torch.atleast_2d(self.labels(model, batch)[0].float())
        )


def find_heads(
    checkpoint: Checkpoint,
    device: Device,
    dtype: torch.dtype,
    rerank_template: RerankTemplate | None = None,
) -> Heads:
    folder = checkpoint.folder
    task = read_task(folder, json.loads((folder / "config.json").read_bytes()))
    if task is Task.RERANK or (task is Task.GENERATE and rerank_template is not None):
        return Heads(pooled=None, labels=_answer_head(folder, rerank_template))
    if task is Task.CLASSIFY:
        return Heads(pooled=None, labels=score_texts)
    if task is Task.LABEL_TOKENS:
        return Heads(pooled=None, labels=score_tokens)
    try:
        sentence = read_sentence(folder, checkpoint.architecture)
        return Heads(pooled=_sentence_head(sentence, device, dtype), labels=None)
    except CheckpointRefused:
        # Another runtime may pool it; how near two vectors are shows in the usual ones too.
        return Heads(pooled=None, labels=None)


def _answer_head(folder: Path, rerank_template: RerankTemplate | None) -> Head | None:
    try:
        template = find_template(folder, rerank_template, Task.RERANK)
    except CheckpointRefused:
        return None
    return None if template is None or template.answers is None else AnswerHead(template.answers)


def batch_of(model: Any, tokens: Tensor) -> Batch:
    rows = tokens.unsqueeze(0)
    inputs = {"input_ids": rows, "attention_mask": torch.ones_like(rows)}
    if getattr(model.config, "use_cache", False):
        model.config.use_cache = False
    return Batch(
        inputs=inputs,
        lengths=torch.tensor([len(tokens)], device=tokens.device),
        prompts=torch.tensor([0], device=tokens.device),
    )


def _sentence_head(sentence: Sentence, device: Device, dtype: torch.dtype) -> Head:
    if sentence.splade is not None:
        return SpladeHead(sentence.splade, normalizes=sentence.normalizes)
    return SentenceHead(sentence, load_dense(sentence.dense, dtype, device.kind))


def _usual_pooling(model: Any) -> Head:
    """Return the last token's state where only that one has seen the whole text, else the mean."""
    is_causal = any(getattr(module, "is_causal", False) for module in model.modules())
    return SentenceHead(Sentence(modes=("lasttoken" if is_causal else "mean",)), ())
