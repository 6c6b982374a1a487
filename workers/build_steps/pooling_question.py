"""The one question to vLLM where it pools: at its own routes, which are not the hosted product's.

Source: vLLM `entrypoints/pooling/*/protocol.py`, read 2026-11-28; vectors and ranks seen
2026-11-29 (`docs/evidence.md`), labels and tokens not kept.
"""

from typing import Any

from controlplane.clock import SYSTEM, Clock
from controlplane.domain.facts.architectures import Role
from controlplane.domain.facts.checkpoints import CheckpointFacts
from workers.build_steps.encoder_question import (
    NAMES,
    OTHER,
    PARAPHRASE,
    QUERY,
    RIGHT,
    SENTENCE,
    WRONG,
    EncoderAnswer,
    Question,
    finite,
    put,
    vectors_words,
)


def ask_pooling(url: str, checkpoint: CheckpointFacts, *, clock: Clock = SYSTEM) -> EncoderAnswer:
    """Return what vLLM makes of a few texts; raises StepFailure for what is no answer."""
    return put(url, _question(checkpoint), clock=clock)


def _question(checkpoint: CheckpointFacts) -> Question:
    if checkpoint.role is Role.TOKEN_CLASSIFICATION:
        body: dict[str, Any] = {"input": [NAMES], "task": "token_classify"}
        return Question(route="/pooling", body=body, words=NAMES, read=_tokens)
    if checkpoint.role is not Role.SEQUENCE_CLASSIFICATION:
        texts = [SENTENCE, PARAPHRASE, OTHER]
        body = {"input": texts, "encoding_format": "float"}
        return Question(
            route="/v1/embeddings", body=body, words=" / ".join(texts), read=vectors_words
        )
    if checkpoint.labels == 1:
        body = {"query": QUERY, "documents": [RIGHT, WRONG]}
        words = f"{QUERY} {RIGHT} / {WRONG}"
        return Question(route="/rerank", body=body, words=words, read=_ranks)
    return Question(route="/classify", body={"input": [RIGHT]}, words=RIGHT, read=_labels)


def _ranks(answer: Any) -> str:
    ordered = sorted(answer["results"], key=lambda each: each["index"])
    right, wrong = (finite(each["relevance_score"]) for each in ordered)
    return f"{right:.4f} for the first text, {wrong:.4f} for the second."


def _labels(answer: Any) -> str:
    (item,) = answer["data"]
    best = max(finite(each) for each in item["probs"])
    return f"{item['label']} {best:.4f}."


def _tokens(answer: Any) -> str:
    (item,) = answer["data"]
    scores = [finite(score) for token in item["data"] for score in token]
    if not scores:
        raise ValueError("no token has a score")
    return f"Scores for {len(item['data'])} tokens."
