"""Text to tokens and back, as the checkpoint's own files say."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from jinja2 import TemplateError
from transformers import AutoTokenizer

from controlplane.domain.facts.chat_forms import renders_tools, template_text
from workers.engine.errors import CheckpointRefused, RequestRefused

RENDERING = frozenset(
    {"add_generation_prompt", "tokenize", "tools", "chat_template", "conversation"}
)
"""What the engine itself says to the template; requests do not."""


def load_tokenizer(folder: Path) -> Any:
    """Give back the folder's tokenizer, whose `backend_tokenizer` neither cuts nor pads.

    That Rust part is what encodes here: Transformers' wrapper changes its state while it does.
    Raises: `CheckpointRefused`.
    """
    try:
        # Said aloud: left open, Transformers asks whoever is at a terminal.
        tokenizer: Any = AutoTokenizer.from_pretrained(
            folder, trust_remote_code=False, local_files_only=True
        )
    except (MemoryError, ImportError):
        raise
    except Exception as error:  # whatever a stranger's files come to
        reason = " ".join(str(error).split()) or type(error).__name__
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
    def chat_template(self) -> str:
        """The text of the template, of several the one that is made for tools."""
        return template_text(self._tokenizer.chat_template) or ""

    @property
    def renders_tools(self) -> bool:
        return renders_tools(self.chat_template)

    @cached_property
    def special_tokens(self) -> Mapping[str, int]:
        """Tokens that are no text, by name."""
        added = self.backend.get_added_tokens_decoder().items()
        return {token.content: number for number, token in added if token.special}

    def token_of(self, text: str) -> int | None:
        token: int | None = self.backend.token_to_id(text)
        return token

    def encode(self, text: str) -> list[int]:
        """Give back the tokens of a plain prompt, with the start token where there is one."""
        return self._encode(text, field="prompt", add_special_tokens=True)

    def render_chat(
        self,
        messages: Sequence[Mapping[str, Any]],
        options: Mapping[str, Any],
        *,
        tools: Sequence[Mapping[str, Any]] | None = None,
    ) -> str:
        """Give back the text of a conversation; options are what the template itself reads."""
        if not self.chat_template:
            raise RequestRefused(
                "This checkpoint has no chat template; send a plain prompt to /v1/completions.",
                field="messages",
            )
        options = {name: value for name, value in options.items() if name not in RENDERING}
        try:
            return str(
                self._tokenizer.apply_chat_template(
                    list(messages), add_generation_prompt=True, tokenize=False,
                    tools=list(tools) if tools else None, **options,
                )
            )  # fmt: skip
        except Exception as error:  # whatever a stranger's template comes to
            reason = str(error) if isinstance(error, TemplateError) else repr(error)
            raise RequestRefused(
                f"The checkpoint's chat template refused the messages: {reason}", field="messages"
            ) from error

    def encode_rendered(self, text: str) -> list[int]:
        return self._encode(text, field="messages", add_special_tokens=False)

    def decode(self, tokens: Sequence[int], *, shows_special: bool = False) -> str:
        return self.backend.decode(tokens, skip_special_tokens=not shows_special)

    def _encode(self, text: str, *, field: str, add_special_tokens: bool) -> list[int]:
        try:
            return self.backend.encode(text, add_special_tokens=add_special_tokens).ids
        except (TypeError, UnicodeEncodeError):
            raise RequestRefused(
                f"`{field}` holds half a surrogate pair, which is no character.", field=field
            ) from None
