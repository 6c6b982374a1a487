"""Log probabilities in the two shapes that OpenAI's clients read."""

from collections.abc import Callable, Sequence
from typing import Any

from workers.engine.generation import TokenScore

TokenBytes = Callable[[int], bytes]


def chat_logprobs(scores: Sequence[TokenScore], token_bytes: TokenBytes) -> dict[str, Any]:
    """Give back the `logprobs` of a chat choice."""
    content = [
        _chat_entry(score.token, score.logprob, token_bytes)
        | {"top_logprobs": [_chat_entry(*pair, token_bytes) for pair in score.likeliest]}
        for score in scores
    ]
    return {"content": content, "refusal": None}


def completion_logprobs(
    scores: Sequence[TokenScore], token_bytes: TokenBytes, *, offset: int
) -> dict[str, Any]:
    """Give back the `logprobs` of a plain choice whose first token is at `offset` of its text."""
    tokens = [_text(token_bytes(score.token)) for score in scores]
    offsets = []
    for token in tokens:
        offsets.append(offset)
        offset += len(token)
    return {
        "tokens": tokens,
        "token_logprobs": [score.logprob for score in scores],
        "top_logprobs": [
            {_text(token_bytes(token)): logprob for token, logprob in score.likeliest}
            for score in scores
        ],
        "text_offset": offsets,
    }


def _chat_entry(token: int, logprob: float, token_bytes: TokenBytes) -> dict[str, Any]:
    raw = token_bytes(token)
    return {"token": _text(raw), "logprob": logprob, "bytes": list(raw)}


def _text(raw: bytes) -> str:
    return raw.decode(errors="replace")
