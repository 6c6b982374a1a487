"""How a language model is asked whether a text answers a query."""

from pathlib import Path
from typing import Any

from controlplane.domain.spec.choices import RerankTemplate
from workers.engine.errors import CheckpointRefused
from workers.engine.pooling.checkpoint_template import CheckpointTemplate
from workers.engine.pooling.pair_template import Answers, Framed, PairTemplate
from workers.engine.task import ANSWER_MODULE, Task, module_folders
from workers.engine.tokenizer import load_tokenizer


def find_template(
    folder: Path, requested: RerankTemplate | None, task: Task
) -> PairTemplate | None:
    """Give back the template that a config names, or the one of the folder's own files.

    None where pairs are read as the tokenizer frames them. Raises: `CheckpointRefused`.
    """
    has_head = task is not Task.RERANK
    if has_head and requested is None:
        return None
    tokenizer = load_tokenizer(folder)
    if requested is RerankTemplate.QWEN3:
        return _Qwen3(None if has_head else _answers(tokenizer, "yes", "no"))
    if requested is RerankTemplate.BGE:
        return _Bge(None if has_head else _answers(tokenizer, "Yes", None), tokenizer.bos_token_id)
    place = module_folders(folder).get(ANSWER_MODULE)
    return None if place is None else CheckpointTemplate(folder, place, tokenizer)


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
        task = instruction or self._INSTRUCTION
        before = f"<Instruct>: {task}\n<Query>: {query}\n<Document>: "
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


def _answers(tokenizer: Any, yes: str, no: str | None) -> Answers:
    return Answers(yes=_token(tokenizer, yes), no=None if no is None else _token(tokenizer, no))


def _token(tokenizer: Any, word: str) -> int:
    token: int | None = tokenizer.backend_tokenizer.token_to_id(word)
    if token is None:
        raise CheckpointRefused(
            f"The tokenizer has no token `{word}`, by which this checkpoint is to rank."
        )
    return token
