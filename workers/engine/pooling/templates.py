"""How a language model is asked whether a text answers a query."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

from controlplane.domain.json_text import read_json
from controlplane.domain.spec.choices import RerankTemplate
from workers.engine.errors import CheckpointRefused
from workers.engine.pooling.sentence import default_prompt, processing_of
from workers.engine.task import ANSWER_MODULE, SENTENCE_MODULES, Task, module_folders
from workers.engine.tokenizer import load_tokenizer

_QUERY_MARK, _TEXT_MARK = "\ue000query\ue000", "\ue000text\ue000"
"""Of the private use area: no template has them."""
_INSTRUCTIONS = 64
"""That are kept rendered; most clients send one."""


@dataclass(frozen=True, kw_only=True)
class Framed:
    """A query and a text as the model reads them, in pieces that are encoded one by one."""

    pieces: tuple[str, ...]
    place: int
    """The piece that holds the text."""
    start: int
    """The text's first character in it; the text ends the piece, or `after` follows."""
    end: int


@dataclass(frozen=True, kw_only=True)
class Answers:
    """The tokens whose scores make the score of a pair."""

    yes: int
    no: int | None
    """Without it, the score is that of `yes` alone."""


class PairTemplate(Protocol):
    """One way of asking."""

    answers: Answers | None
    """None where a head of the checkpoint makes the score."""
    bos: int | None
    """The token that every pair begins with."""

    def frame(self, query: str, text: str, instruction: str | None) -> Framed:
        """Give back the pair as it is read."""


def find_template(folder: Path, asked: RerankTemplate | None, task: Task) -> PairTemplate | None:
    """Give back the template that a config names, or the one of the folder's own files.

    None where pairs are read as the tokenizer frames them. Raises: `CheckpointRefused`.
    """
    has_head = task is not Task.RERANK
    if has_head and asked is None:
        return None
    tokenizer = load_tokenizer(folder)
    if asked is RerankTemplate.QWEN3:
        return _Qwen3(None if has_head else _answers(tokenizer, "yes", "no"))
    if asked is RerankTemplate.BGE:
        return _Bge(None if has_head else _answers(tokenizer, "Yes", None), tokenizer.bos_token_id)
    place = module_folders(folder).get(ANSWER_MODULE)
    return None if place is None else _OfCheckpoint(folder, place, tokenizer)


class _Qwen3:
    """As Qwen3-Reranker was trained.

    Source: the model card of Qwen/Qwen3-Reranker-0.6B, Transformers usage, read 2026-11-30.
    """

    bos: int | None = None
    _BEFORE = (
        "<|im_start|>system\nJudge whether the Document meets the requirements based on the Query "
        'and the Instruct provided. Note that the answer can only be "yes" or "no".<|im_end|>\n'
        "<|im_start|>user\n"
    )
    _AFTER = "<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n"
    _INSTRUCTION = "Given a web search query, retrieve relevant passages that answer the query"

    def __init__(self, answers: Answers | None) -> None:
        self.answers = answers

    def frame(self, query: str, text: str, instruction: str | None) -> Framed:
        """Give back instruction, query and document between the two ends of the dialogue."""
        asked = instruction or self._INSTRUCTION
        before = f"<Instruct>: {asked}\n<Query>: {query}\n<Document>: "
        pieces = (self._BEFORE, before + text, self._AFTER)
        return Framed(pieces=pieces, place=1, start=len(before), end=len(before) + len(text))


class _Bge:
    """As bge-reranker-v2-gemma was trained.

    Source: the model card of BAAI/bge-reranker-v2-gemma, `get_inputs`, read 2026-11-30.
    """

    _INSTRUCTION = (
        "Given a query A and a passage B, determine whether the passage contains an answer to the "
        "query by providing a prediction of either 'Yes' or 'No'."
    )

    def __init__(self, answers: Answers | None, bos: int | None) -> None:
        self.answers, self.bos = answers, bos

    def frame(self, query: str, text: str, instruction: str | None) -> Framed:
        """Give back query, passage and instruction, a line each."""
        pieces = (f"A: {query}", "\n", f"B: {text}", "\n", instruction or self._INSTRUCTION)
        return Framed(pieces=pieces, place=2, start=3, end=3 + len(text))


class _OfCheckpoint:
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
        self._asked = processing_of(folder)
        self._in_parts = not self._shows_both(self._instruction)  # what such templates then read
        self._halves = lru_cache(_INSTRUCTIONS)(self._split)
        if not self._shows_both(self._instruction):
            raise CheckpointRefused(
                f"`{folder}` ranks by its answers ({ANSWER_MODULE} in {SENTENCE_MODULES}), and its "
                "chat template does not show messages of the roles `query` and `document`."
            )

    def frame(self, query: str, text: str, instruction: str | None) -> Framed:
        """Give back the dialogue as one piece."""
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
            asked = self._tokenizer.apply_chat_template(messages, tokenize=False, **self._asked)
        except Exception as error:  # of the template's own language, and whatever it raises
            reason = " ".join(str(error).split())
            raise CheckpointRefused(
                f"The chat template of `{self._folder}`, by which this checkpoint is to rank, "
                f"fails on a query and a document: {type(error).__name__}: {reason}"
            ) from None
        return str(asked)

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


def _answers(tokenizer: Any, yes: str, no: str | None) -> Answers:
    return Answers(yes=_token(tokenizer, yes), no=None if no is None else _token(tokenizer, no))


def _token(tokenizer: Any, word: str) -> int:
    found: int | None = tokenizer.backend_tokenizer.token_to_id(word)
    if found is None:
        raise CheckpointRefused(
            f"The tokenizer has no token `{word}`, by which this checkpoint is to rank."
        )
    return found
