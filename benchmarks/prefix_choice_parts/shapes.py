"""What is asked: conversations and agents, each a list of messages that grows."""

import random
from dataclasses import dataclass

Message = dict[str, str]
_WORDS = (
    "lease",
    "node",
    "replica",
    "engine",
    "token",
    "prompt",
    "cache",
    "queue",
    "gate",
    "build",
)


@dataclass(frozen=True, kw_only=True)
class Shape:
    """How many talk, how often, and how much is said."""

    name: str
    talkers: int
    turns: int
    at_once: int
    shared_words: int
    """What all of them begin with."""
    turn_words: int
    answer_tokens: int = 2

    def talks(self, words: random.Random) -> list[list[Message]]:
        """Return how each of them begins."""
        begins = {"role": "system", "content": said(words, self.shared_words)}
        return [[begins] for _ in range(self.talkers)]


SHAPES = (
    Shape(name="conversations", talkers=5, turns=3, at_once=2, shared_words=30, turn_words=30),
    Shape(name="agents", talkers=4, turns=3, at_once=2, shared_words=120, turn_words=30),
)


def said(words: random.Random, count: int) -> str:
    """Return so many words."""
    return " ".join(words.choices(_WORDS, k=count))
