"""Hidden states to one vector a text."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from workers.engine.pooling.pair_template import Answers
from workers.engine.pooling.sentence import Sentence, Splade


@dataclass(frozen=True, kw_only=True)
class Batch:
    """Rows padded on the right to the longest."""

    inputs: Mapping[str, Tensor]
    """What the model is called with, each `[rows, longest]`."""
    lengths: Tensor
    prompts: Tensor
    """Leading tokens of each row that pooling leaves out."""

    @property
    def called(self) -> Mapping[str, Tensor]:
        """With the mask that some heads average by, also where the body does without one."""
        place = torch.arange(self.inputs["input_ids"].shape[1], device=self.lengths.device)
        return {"attention_mask": (place < self.lengths[:, None]).long(), **self.inputs}

    @property
    def kept(self) -> Tensor:
        """One where a token counts. Shape: `[rows, longest, 1]`."""
        place = torch.arange(self.inputs["input_ids"].shape[1], device=self.lengths.device)
        kept = (place >= self.prompts[:, None]) & (place < self.lengths[:, None])
        return kept.unsqueeze(-1)


Head = Callable[[Any, Batch], Tensor | Sequence[Tensor]]
"""Model and batch -> one tensor per row; one tensor for all where they have one shape."""


class SentenceHead:
    """Pools token vectors, projects and normalizes them, as the checkpoint says."""

    def __init__(self, sentence: Sentence, dense: Sequence[nn.Module]) -> None:
        self._sentence = sentence
        self._dense = dense

    def __call__(self, model: Any, batch: Batch) -> Tensor:
        hidden = model.base_model(**batch.inputs).last_hidden_state
        pooled = [_POOLINGS[mode](hidden, batch) for mode in self._sentence.modes]
        vectors = torch.cat(pooled, dim=-1)
        for layer in self._dense:
            vectors = layer(vectors)
        vectors = vectors.float()
        return nn.functional.normalize(vectors) if self._sentence.normalizes else vectors


class SpladeHead:
    """A weight for every word of the vocabulary, nearly all of them zero."""

    def __init__(self, splade: Splade, *, normalizes: bool) -> None:
        self._splade = splade
        self._normalizes = normalizes

    def __call__(self, model: Any, batch: Batch) -> Tensor:
        """Give back a vector over the vocabulary per row."""
        scores = (model(**batch.inputs).logits.float() * batch.kept).relu().log1p()
        if self._splade.twice:
            scores = scores.log1p()
        vectors = scores.amax(1) if self._splade.strategy == "max" else scores.sum(1)
        return nn.functional.normalize(vectors) if self._normalizes else vectors


class AnswerHead:
    """Scores what a language model would answer at the end of a text."""

    def __init__(self, answers: Answers) -> None:
        self._tokens = [answers.yes] if answers.no is None else [answers.yes, answers.no]

    def __call__(self, model: Any, batch: Batch) -> Tensor:
        """Give back per row how much likelier yes is than no, or the score of yes alone."""
        hidden = model.base_model(**batch.inputs).last_hidden_state
        of_words = model.get_output_embeddings().weight[self._tokens]
        logits = (_at(hidden, batch.lengths - 1) @ of_words.T).float()
        if bound := getattr(model.config, "final_logit_softcapping", None):
            logits = bound * (logits / bound).tanh()
        return logits[:, :1] - logits[:, 1:].sum(1, keepdim=True)


def score_texts(model: Any, batch: Batch) -> Tensor:
    scores: Tensor
    if not hasattr(model, "score"):
        scores = model(**batch.called).logits
        return scores.float()
    # A decoder's own class finds the last token by its id, and so takes a text that ends in the
    # padding token for a shorter one.
    hidden = model.base_model(**batch.inputs).last_hidden_state
    scores = model.score(_at(hidden, batch.lengths - 1))
    return scores.float()


def score_tokens(model: Any, batch: Batch) -> Sequence[Tensor]:
    logits = model(**batch.called).logits.float()
    return [row[:length] for row, length in zip(logits, batch.lengths.tolist(), strict=True)]


def _at(hidden: Tensor, places: Tensor) -> Tensor:
    return hidden[torch.arange(len(hidden), device=hidden.device), places]


def _mean(hidden: Tensor, batch: Batch, *, power: float = 1.0) -> Tensor:
    """Divide by the number of tokens that count, or by its root."""
    total = (hidden.float() * batch.kept).sum(1)
    return total / batch.kept.sum(1).clamp(min=1) ** power


def _weighted_mean(hidden: Tensor, batch: Batch) -> Tensor:
    weights = batch.kept * torch.arange(1, hidden.shape[1] + 1, device=hidden.device)[:, None]
    return (hidden.float() * weights).sum(1) / weights.sum(1).clamp(min=1)


_POOLINGS: Mapping[str, Callable[[Tensor, Batch], Tensor]] = {
    "cls": lambda hidden, batch: _at(hidden, torch.minimum(batch.prompts, batch.lengths - 1)),
    "lasttoken": lambda hidden, batch: _at(hidden, batch.lengths - 1),
    "max": lambda hidden, batch: hidden.masked_fill(~batch.kept, -torch.inf).amax(1),
    "mean": _mean,
    "mean_sqrt_len_tokens": partial(_mean, power=0.5),
    "weightedmean": _weighted_mean,
}
