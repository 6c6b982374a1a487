"""Shapes of requests: how long prompts and answers are, and what of a prompt all share."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """What is asked for, which decides the form of the request."""

    CHAT = "chat"
    EMBEDDINGS = "embeddings"
    RERANK = "rerank"
    CLASSIFY = "classify"


KIND_OF_ROUTE: Mapping[str, Kind] = {
    "/v1/chat/completions": Kind.CHAT,
    "/v1/embeddings": Kind.EMBEDDINGS,
    "/rerank": Kind.RERANK,
    "/predict": Kind.CLASSIFY,
    "/predict_tokens": Kind.CLASSIFY,
}
"""By where a deployment is asked."""


@dataclass(frozen=True, kw_only=True)
class Shape:
    name: str
    label: str
    words: str
    kinds: frozenset[Kind]
    """What a deployment must be asked for."""
    prompt_tokens: int = 0
    """Of each text, where it has several; 0 where requests bring their own."""
    completion_tokens: int = 0
    shared_tokens: int = 0
    """Of the prompt, what every request begins with: an engine may keep it."""
    texts: int = 1
    """Texts in a request."""
    is_code: bool = False

    @property
    def brings_lengths(self) -> bool:
        """Whether lengths come with the run: from own lines, or from recorded traffic."""
        return not self.prompt_tokens


_CHAT = frozenset({Kind.CHAT})
_TEXTS = frozenset({Kind.EMBEDDINGS, Kind.CLASSIFY})
SAMPLES, RECORDED = "samples", "recorded"
SHAPES: Mapping[str, Shape] = {
    each.name: each
    for each in (
        Shape(
            name="chat", label="Chat", kinds=_CHAT, prompt_tokens=256, completion_tokens=256,
            shared_tokens=64, words="A short conversation: 256 tokens in, 256 out.",
        ),
        Shape(
            name="code_edit", label="Code edit", kinds=_CHAT, prompt_tokens=1024,
            completion_tokens=1024, is_code=True,
            words="A file and a change to it, written out whole: 1,024 tokens in, 1,024 out.",
        ),
        Shape(
            name="rag", label="RAG", kinds=_CHAT, prompt_tokens=3072, completion_tokens=256,
            shared_tokens=256,
            words="A question over found passages: 3,072 tokens in, 256 of them shared, 256 out.",
        ),
        Shape(
            name="long_prompt", label="Long prompt", kinds=_CHAT, prompt_tokens=16_384,
            completion_tokens=64, words="One long document: 16,384 tokens in, 64 out.",
        ),
        Shape(
            name="embeddings", label="Embeddings", kinds=_TEXTS, prompt_tokens=150,
            words="One text of 150 tokens a request, for vectors or classes.",
        ),
        Shape(
            name="rerank", label="Rerank", kinds=frozenset({Kind.RERANK}), prompt_tokens=150,
            texts=16, words="One question and 16 texts of 150 tokens a request.",
        ),
        Shape(
            name=SAMPLES, label="Own requests", kinds=_CHAT,
            words="Prompts, or lengths, of a JSONL of your own.",
        ),
        Shape(
            name=RECORDED, label="Recorded lengths", kinds=_CHAT,
            words="The lengths of the deployment's own traffic, never its text.",
        ),
    )
}  # fmt: skip


def shapes_for(kind: Kind) -> list[Shape]:
    return [each for each in SHAPES.values() if kind in each.kinds]
