"""What a checkpoint is for, by its own files; needs no torch."""

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any

from controlplane.domain.json_text import read_json

SENTENCE_MODULES = "modules.json"
ANSWER_MODULE = "LogitScore"
"""Makes a score of what a language model would answer."""


class Task(StrEnum):
    """What one request asks of the model."""

    GENERATE = "generate"
    EMBED = "embed"
    CLASSIFY = "classify"
    """One score per label of a text; with a single label that is a reranker."""
    LABEL_TOKENS = "label_tokens"
    RERANK = "rerank"
    """One score per pair of texts: how likely a language model would answer yes."""


def read_task(folder: Path, config: Mapping[str, Any]) -> Task:
    architecture = str((config.get("architectures") or [""])[0])
    if architecture.endswith("ForSequenceClassification"):
        return Task.CLASSIFY
    if architecture.endswith("ForTokenClassification"):
        return Task.LABEL_TOKENS
    if ANSWER_MODULE in module_folders(folder):
        return Task.RERANK
    if (folder / SENTENCE_MODULES).exists():
        return Task.EMBED
    is_body = architecture.endswith("Model") and not architecture.endswith("LMHeadModel")
    return Task.EMBED if is_body or architecture.endswith("ForMaskedLM") else Task.GENERATE


def module_folders(folder: Path) -> Mapping[str, str]:
    """Give back the kinds of a folder's sentence modules, each with where its settings are.

    Empty where there are none; `pooling.sentence` says what is wrong with a list of them.
    """
    try:
        listed = read_json((folder / SENTENCE_MODULES).read_bytes())
        return {str(each["type"]).rpartition(".")[2]: str(each["path"]) for each in listed}
    except (OSError, ValueError, TypeError, KeyError):
        return {}
