"""Which secrets a request made, so that no answer that shows one is kept."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_made: ContextVar[list[str] | None] = ContextVar("fresh_secrets", default=None)


@contextmanager
def fresh_secrets() -> Iterator[list[str]]:
    made: list[str] = []
    before = _made.set(made)
    try:
        yield made
    finally:
        _made.reset(before)


def note_secret(secret: str) -> str:
    made = _made.get()
    if made is not None:
        made.append(secret)
    return secret
