"""The one question to an engine that pools: vectors, ranks or labels of a few short texts."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from controlplane.clock import SYSTEM, Clock
from controlplane.domain.json_text import read_json
from workers.bounded_http import Limits
from workers.bounded_http import ask as asked
from workers.build_steps.failures import bad_answer

SENTENCE, PARAPHRASE, OTHER = (
    "A cat sleeps on the mat.",
    "The cat is asleep on a rug.",
    "Interest rates rose in March.",
)
QUERY, RIGHT, WRONG = (
    "What is the capital of France?",
    "Paris is the capital of France.",
    "Bananas ripen after the harvest.",
)
NAMES = "Ada Lovelace was born in London."
_ANSWER_SECONDS = 300.0
_ANSWER_BYTES = 64 * 1024 * 1024
_ERROR_CHARACTERS = 2000
_SHOWN = 3


@dataclass(frozen=True, kw_only=True)
class EncoderAnswer:
    question: str
    text: str
    seconds: float


def ask_encoder(url: str, report: Mapping[str, Any], *, clock: Clock = SYSTEM) -> EncoderAnswer:
    """Return what the engine makes of a few texts; raises StepFailure for what is no answer."""
    return put(url, _question(report), clock=clock)


def put(url: str, question: "Question", *, clock: Clock = SYSTEM) -> EncoderAnswer:
    """Return what came back in words; raises StepFailure for what is no answer."""
    started = clock.monotonic()
    limits = Limits(seconds=_ANSWER_SECONDS, most_bytes=_ANSWER_BYTES, clock=clock)
    answer = asked("POST", f"{url}{question.route}", limits=limits, json_body=question.body)
    seconds = clock.monotonic() - started
    body = answer.content.decode(errors="replace")[:_ERROR_CHARACTERS]
    if answer.status != HTTPStatus.OK:
        raise bad_answer(f"HTTP {answer.status}", body)
    try:
        words = question.read(read_json(answer.content))
    except (ValueError, KeyError, TypeError, IndexError) as error:
        raise bad_answer(f"its answer at {question.route} is of no use ({error})", body) from error
    return EncoderAnswer(question=question.words, text=words, seconds=round(seconds, 4))


@dataclass(frozen=True, kw_only=True)
class Question:
    route: str
    body: Mapping[str, Any]
    words: str
    read: Callable[[Any], str]


def _question(report: Mapping[str, Any]) -> Question:
    if report["task"] == "embed":
        texts = [SENTENCE, PARAPHRASE, OTHER]
        body = {"input": texts, "encoding_format": "float"}
        return Question(
            route="/v1/embeddings", body=body, words=" / ".join(texts), read=vectors_words
        )
    if report["task"] == "label_tokens":
        return Question(
            route="/predict_tokens", body={"inputs": [[NAMES]]}, words=NAMES, read=_tokens
        )
    if len(report["labels"]) == 1:
        return Question(
            route="/rerank",
            body={"query": QUERY, "texts": [RIGHT, WRONG]},
            words=f"{QUERY} {RIGHT} / {WRONG}",
            read=_ranks,
        )
    return Question(route="/predict", body={"inputs": [[RIGHT]]}, words=RIGHT, read=_labels)


def vectors_words(answer: Any) -> str:
    """Return what is told of three vectors in the shape of OpenAI. Raises ValueError."""
    one, near, far = (each["embedding"] for each in answer["data"])
    if not all(math.isfinite(number) for number in (*one, *near, *far)):
        raise ValueError("a vector is not finite")
    if not all(any(vector) for vector in (one, near, far)):
        raise ValueError("a vector is all zeros")
    return (
        f"Vectors of {len(one):,} numbers; the cosine of the first with the second is "
        f"{_cosine(one, near):.2f}, with the third {_cosine(one, far):.2f}."
    )


def _ranks(answer: Any) -> str:
    right, wrong = (finite(each["score"]) for each in sorted(answer, key=lambda e: e["index"]))
    return f"{right:.4f} for the first text, {wrong:.4f} for the second."


def _labels(answer: Any) -> str:
    best = [f"{each['label']} {finite(each['score']):.4f}" for each in answer[0][:_SHOWN]]
    return ", ".join(best) + "."


def _tokens(answer: Any) -> str:
    labels = [(each["token"], max(each["results"], key=each["results"].get)) for each in answer[0]]
    return ", ".join(f"{token} {label}" for token, label in labels)


def _cosine(one: Sequence[float], other: Sequence[float]) -> float:
    product = math.fsum(a * b for a, b in zip(one, other, strict=True))
    return product / (math.hypot(*one) * math.hypot(*other))


def finite(score: float) -> float:
    """Return the score. Raises ValueError where it is no number."""
    if not math.isfinite(score):
        raise ValueError("a score is not finite")
    return score
