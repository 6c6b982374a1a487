"""Text to tokens and back, as the checkpoint's own files say."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from jinja2 import TemplateError
from transformers import AutoTokenizer

from workers.engine.errors import CheckpointRefused, RequestRefused


def load_tokenizer(folder: Path) -> Any:
    """Give back the folder's tokenizer, whose `backend_tokenizer` neither cuts nor pads.

    That Rust part is what encodes here: Transformers' wrapper changes its state while it does.
    Raises: `CheckpointRefused`.
    """
    try:
        tokenizer: Any = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    except (OSError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise CheckpointRefused(f"`{folder}` has no usable tokenizer: {reason}") from error
    if not getattr(tokenizer, "is_fast", False):
        raise CheckpointRefused(f"`{folder}` has no tokenizer.json, which the engine reads.")
    tokenizer.backend_tokenizer.no_truncation()
    tokenizer.backend_tokenizer.no_padding()
    return tokenizer


class TextCodec:
    """The checkpoint's tokenizer; safe to use from several threads."""

    def __init__(self, folder: Path) -> None:
        self._tokenizer = load_tokenizer(folder)
        self.backend = self._tokenizer.backend_tokenizer

    @property
    def end_tokens(self) -> frozenset[int]:
        """The tokenizer's own end token, where it has one."""
        end = self._tokenizer.eos_token_id
        return frozenset() if end is None else frozenset({end})

    @property
    def has_chat_template(self) -> bool:
        """Whether chat requests can be rendered."""
        return bool(self._tokenizer.chat_template)

    def encode(self, text: str) -> list[int]:
        """Give back the tokens of a plain prompt, with the start token where there is one."""
        return self._encode(text, field="prompt", add_special_tokens=True)

    def encode_chat(self, messages: Sequence[Mapping[str, Any]]) -> list[int]:
        """Give back the tokens of a conversation up to where the assistant answers."""
        if not self.has_chat_template:
            raise RequestRefused(
                "This checkpoint has no chat template; send a plain prompt to /v1/completions.",
                field="messages",
            )
        try:
            text = self._tokenizer.apply_chat_template(
                list(messages), add_generation_prompt=True, tokenize=False
            )
        except (TemplateError, TypeError, ValueError) as error:
            raise RequestRefused(
                f"The checkpoint's chat template refused the messages: {error}", field="messages"
            ) from error
        return self._encode(text, field="messages", add_special_tokens=False)

    def decode(self, tokens: Sequence[int]) -> str:
        """Give back the text of tokens, special tokens left out."""
        return self.backend.decode(tokens, skip_special_tokens=True)

    def decode_all(self, tokens: Sequence[int]) -> str:
        """Give back the text of tokens, special tokens by their names."""
        return self.backend.decode(tokens, skip_special_tokens=False)

    def _encode(self, text: str, *, field: str, add_special_tokens: bool) -> list[int]:
        try:
            return self.backend.encode(text, add_special_tokens=add_special_tokens).ids
        except (TypeError, UnicodeEncodeError):
            raise RequestRefused(
                f"`{field}` holds half a surrogate pair, which is no character.", field=field
            ) from None
