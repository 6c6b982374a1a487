"""What a prompt begins with, as chained hashes: two that share one share all text up to there.

Approximate on purpose: over text and not tokens, and of the first part of a prompt only.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b

PROMPT_ROUTES = frozenset({
    "/v1/chat/completions", "/v1/completions", "/v1/messages", "/v1/responses",
})  # fmt: skip
"""Routes whose engines keep what they have computed of a prompt."""
LONG_LETTERS = 512
"""A shorter beginning that many share is computed sooner than it is worth a choice."""
BLOCK_LETTERS = 1024
MOST_BLOCKS = 128
_HEAD_LETTERS = 1024
_compact = json.JSONEncoder(separators=(",", ":")).encode
_IN_ORDER = ("system", "instructions", "tools", "functions")
"""What chat templates put before the first message."""
_BEFORE = frozenset(_IN_ORDER)


@dataclass(slots=True)
class Prompt:
    """The beginnings of a prompt, each by a hash of all its text."""

    blocks: list[int]
    """Of longer and longer beginnings: at each block of letters, and at the end of each message."""
    ends: list[int]
    """How many letters each holds."""
    head: str
    """What tells one conversation from another, before it grows."""
    others_letters: int = 0
    """Of a short one, so many may be how other conversations begin, too."""

    @property
    def is_long(self) -> bool:
        return self.ends[-1] >= LONG_LETTERS

    @property
    def home(self) -> int:
        """Return a number that every process has for this conversation."""
        digest = blake2b(self.head.encode(errors="replace"), digest_size=8).digest()
        return int.from_bytes(digest)


def prompt_of(data: Mapping[str, object], tenant: str) -> Prompt | None:
    """Return the beginnings of a body's prompt within what its tenant shares; None without one.

    Hashes are this process's own; only `home` means the same in another.
    """
    before: Sequence[str] = ()
    if not _BEFORE.isdisjoint(data):
        before = [each for name in _IN_ORDER if name in data and (each := _text(data[name]))]
    front = (tenant, str(data.get("model")), *before)
    messages = _messages(data)
    blocks, ends = _chain(hash(front), sum(map(len, before)), messages)
    if not ends[-1]:
        return None
    head, count = _head(tenant, before, messages)
    others = ends[count - 1] if ends[-1] < LONG_LETTERS else 0
    return Prompt(blocks, ends, head, others)


def _messages(data: Mapping[str, object]) -> Sequence[object]:
    messages = data.get("messages") or data.get("prompt") or data.get("input")
    if type(messages) is list and messages and type(messages[0]) is dict:
        return messages
    return [messages] if messages else []  # words, tokens, or several prompts


def _chain(last: int, letters: int, messages: Sequence[object]) -> tuple[list[int], list[int]]:
    # Of each message of each request: a call or an attribute more is a good part of the cost.
    blocks, ends = [last], [letters]
    for message in messages:
        if type(message) is dict and len(message) == 2 and type(message.get("content")) is str:
            role, text = message.get("role"), message["content"]  # nothing else, as of most
        else:
            role, text = _role_and_text(message)
        if len(text) > BLOCK_LETTERS:
            for at in range(0, len(text) - BLOCK_LETTERS, BLOCK_LETTERS):
                last = hash((last, role, text[at : at + BLOCK_LETTERS]))
                blocks.append(last)
                ends.append(letters + at + BLOCK_LETTERS)
            last = hash((last, role, text[at + BLOCK_LETTERS :]))
        else:
            last = hash((last, role, text))
        letters += len(text)
        blocks.append(last)
        ends.append(letters)
        if len(blocks) > MOST_BLOCKS:
            break
    return blocks[:MOST_BLOCKS], ends[:MOST_BLOCKS]


def _role_and_text(message: object) -> tuple[object, str]:
    if not isinstance(message, dict):
        return None, _text(message)
    content = message.get("content")
    if isinstance(content, str) and len(message) == 2:
        return message.get("role"), content
    return message.get("role"), _compact(message)


def _text(value: object) -> str:
    return value if isinstance(value, str) else "" if value is None else _compact(value)


def _head(tenant: str, before: Sequence[str], messages: Sequence[object]) -> tuple[str, int]:
    """Return the beginnings of what stands first, and how many messages up to a user's first."""
    parts = [tenant, *[each[:_HEAD_LETTERS] for each in before]]
    count = 0
    for message in messages:
        role, text = _role_and_text(message)
        parts.append(text[:_HEAD_LETTERS])
        count += 1
        if role in ("user", None):
            break
    return "\0".join(parts), count
