from collections.abc import Callable, Sequence

UNFINISHED = "\ufffd"
LONGEST_CHARACTER_TOKENS = 8
"""A character has four bytes at most; more tokens than this without text are no character."""


class Detokenizer:
    """Gives text out as soon as it is final, and never cuts a character."""

    def __init__(self, decode: Callable[[Sequence[int]], str]) -> None:
        self._decode = decode
        self._tokens: list[int] = []
        self._context = 0  # decoding restarts here: some tokenizers need the token before
        self._given = 0  # tokens before this one are already text

    def push(self, token: int) -> str:
        """Take one token; give back the text that is now final, often none or one word."""
        self._tokens.append(token)
        text = self._pending_text()
        stuck = len(self._tokens) - self._given > LONGEST_CHARACTER_TOKENS
        if not text or (text.endswith(UNFINISHED) and not stuck):
            return ""
        self._context, self._given = self._given, len(self._tokens)
        return text

    def flush(self) -> str:
        """Give back what is left at the end, an unfinished character as U+FFFD."""
        text = self._pending_text()
        self._context, self._given = self._given, len(self._tokens)
        return text

    def _pending_text(self) -> str:
        before = self._decode(self._tokens[self._context : self._given])
        return self._decode(self._tokens[self._context :])[len(before) :]
