"""What a checkpoint is for, by its own files; needs no torch."""

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any

SENTENCE_MODULES = "modules.json"


class Task(StrEnum):
    """What one request asks of the model."""

    GENERATE = "generate"
    EMBED = "embed"
    CLASSIFY = "classify"
    """One score per label of a text; with a single label that is a reranker."""
    LABEL_TOKENS = "label_tokens"


def read_task(folder: Path, config: Mapping[str, Any]) -> Task:
    """Give back what the architecture's head says, or a list of sentence modules beside it."""
    architecture = str((config.get("architectures") or [""])[0])
    if architecture.endswith("ForSequenceClassification"):
        return Task.CLASSIFY
    if architecture.endswith("ForTokenClassification"):
        return Task.LABEL_TOKENS
    if (folder / SENTENCE_MODULES).exists():
        return Task.EMBED
    is_body = architecture.endswith("Model") and not architecture.endswith("LMHeadModel")
    return Task.EMBED if is_body or architecture.endswith("ForMaskedLM") else Task.GENERATE
