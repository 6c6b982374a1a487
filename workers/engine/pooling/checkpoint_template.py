"""The words of a checkpoint that says itself how it ranks."""

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from controlplane.domain.json_text import read_json
from workers.engine.errors import CheckpointRefused
from workers.engine.pooling.pair_template import Answers, Framed
from workers.engine.pooling.sentence import default_prompt, processing_of
from workers.engine.task import ANSWER_MODULE, SENTENCE_MODULES

_QUERY_MARK, _TEXT_MARK = "\ue000query\ue000", "\ue000text\ue000"
"""Of the private use area: no template has them."""
_INSTRUCTIONS = 64
"""That are kept rendered; most clients send one."""


class CheckpointTemplate:
    """By the checkpoint's chat template, which has roles for `query` and `document`.

    As sentence-transformers 6.2 has it: `CrossEncoder`, module `LogitScore`.
    """

    bos: int | None = None
    _in_parts = False

    def __init__(self, folder: Path, place: str, tokenizer: Any) -> None:
        self.answers: Answers | None = _answers_of_checkpoint(folder / place / "config.json")
        self._folder = folder
        self._tokenizer = tokenizer
        self._instruction = default_prompt(folder)
        self._template_arguments = processing_of(folder)
        self._in_parts = not self._shows_both(self._instruction)  # what such templates then read
        self._halves = lru_cache(_INSTRUCTIONS)(self._split)
        if not self._shows_both(self._instruction):
            raise CheckpointRefused(
                f"`{folder}` ranks by its answers ({ANSWER_MODULE} in {SENTENCE_MODULES}), and its "
                "chat template does not show messages of the roles `query` and `document`."
            )

    def frame(self, query: str, text: str, instruction: str | None) -> Framed:
        halves = self._halves(instruction or self._instruction)
        before, after = (half.replace(_QUERY_MARK, query) for half in halves)
        end = len(before) + len(text)
        return Framed(pieces=(before + text + after,), place=0, start=len(before), end=end)

    def _shows_both(self, instruction: str | None) -> bool:
        rendered = self._render(instruction)
        return rendered.count(_QUERY_MARK) == rendered.count(_TEXT_MARK) == 1

    def _split(self, instruction: str | None) -> tuple[str, str]:
        before, after = self._render(instruction).split(_TEXT_MARK)
        return before, after

    def _render(self, instruction: str | None) -> str:
        messages = [
            *([self._message("system", instruction)] if instruction else ()),
            self._message("query", _QUERY_MARK),
            self._message("document", _TEXT_MARK),
        ]
        try:
            rendered = self._tokenizer.apply_chat_template(
                messages, tokenize=False, **self._template_arguments
            )
        except Exception as error:  # of the template's own language, and whatever it raises
            reason = " ".join(str(error).split())
            raise CheckpointRefused(
                f"The chat template of `{self._folder}`, by which this checkpoint is to rank, "
                f"fails on a query and a document: {type(error).__name__}: {reason}"
            ) from None
        return str(rendered)

    def _message(self, role: str, text: str) -> Mapping[str, Any]:
        return {
            "role": role,
            "content": [{"type": "text", "text": text}] if self._in_parts else text,
        }


def _answers_of_checkpoint(path: Path) -> Answers:
    try:
        named = read_json(path.read_bytes())
        yes, no = named["true_token_id"], named.get("false_token_id")
    except OSError as error:
        raise CheckpointRefused(f"`{path}` cannot be read: {error.strerror}.") from None
    except (ValueError, TypeError, KeyError, AttributeError):
        yes = no = None
    if type(yes) is not int or not (no is None or type(no) is int):
        raise CheckpointRefused(
            f"`{path}` should be a JSON object with `true_token_id`, and perhaps `false_token_id`, "
            "each the number of a token."
        )
    return Answers(yes=yes, no=no)
