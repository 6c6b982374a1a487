"""Reads a checkpoint folder and gives back a model that pools."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import transformers
from torch import nn

from controlplane.domain.runtimes.native.capabilities import POOLED_FAMILIES, POOLED_HEADS, pools
from workers.engine.checkpoint_folder import (
    read_config,
    refuse_pickles,
    refusing_config,
)
from workers.engine.errors import CheckpointRefused
from workers.engine.loader import choose_dtype
from workers.engine.model_class import class_of
from workers.engine.pooling.dense import load_dense
from workers.engine.pooling.heads import (
    AnswerHead,
    Head,
    SentenceHead,
    SpladeHead,
    score_texts,
    score_tokens,
)
from workers.engine.pooling.packed.fp8 import left_emulated
from workers.engine.pooling.pair_template import PairTemplate
from workers.engine.pooling.sentence import Sentence, read_sentence
from workers.engine.pooling.templates import find_template
from workers.engine.quantized_loader import EmulatedModel, load_emulated
from workers.engine.scheme_reader import read_scheme
from workers.engine.settings import EngineSettings
from workers.engine.task import Task, read_task
from workers.engine.whole import refuse_not_finite, refuse_unfit

POSITIONS_AFTER_PADDING = frozenset({"camembert", "mpnet", "roberta", "xlm-roberta"})
"""Families that number positions from the padding token's id on, and so have fewer to give."""

YES = "yes"
"""The label of a score that a language model's answer makes."""

_UNUSED = ("pooler.",)
"""Tensors of a body that no embedding is made of; many checkpoints leave them out."""


@dataclass(frozen=True, kw_only=True)
class LoadedEncoder:
    task: Task
    module: Any
    head: Head
    sentence: Sentence | None
    """How embeddings are made, for a model that makes any."""
    dense: Sequence[nn.Sequential]
    template: PairTemplate | None = None
    """How a query and a text are put together, where the tokenizer does not do it."""
    emulated: tuple[str, ...] = ()

    @property
    def labels(self) -> tuple[str, ...]:
        """What a classifier tells apart, in the order of its scores."""
        if self.task is Task.EMBED:
            return ()
        if self.task is Task.RERANK:
            return (YES,)
        config = self.module.config
        return tuple(config.id2label[index] for index in range(config.num_labels))

    @property
    def max_positions(self) -> int:
        config = self.module.config
        is_after = config.model_type in POSITIONS_AFTER_PADDING
        return config.max_position_embeddings - (config.pad_token_id + 1 if is_after else 0)

    @property
    def vocabulary_size(self) -> int:
        return self.module.config.vocab_size

    @property
    def dimensions(self) -> int:
        if self.sentence is None or self.sentence.splade is not None:
            return self.vocabulary_size
        if self.dense:
            return self.dense[-1][0].out_features
        return self.module.config.hidden_size * len(self.sentence.modes)

    @property
    def has_types(self) -> bool:
        """Whether the model tells the texts of a pair apart by a type per token."""
        return getattr(self.module.config, "type_vocab_size", 0) > 1

    @property
    def padding(self) -> int:
        """The token that fills a row; attention never sees it."""
        return getattr(self.module.config, "pad_token_id", None) or 0

    @property
    def weights_bytes(self) -> int:
        """What the weights take here: those of a quantized checkpoint are expanded."""
        parameters = (p for each in (self.module, *self.dense) for p in each.parameters())
        return sum(p.numel() * p.element_size() for p in parameters)


def load_encoder(settings: EngineSettings) -> LoadedEncoder:
    """Read weights and facts of the folder. Raises: `CheckpointRefused` with the reason."""
    transformers.utils.logging.disable_progress_bar()
    folder = settings.model_dir
    config = read_config(folder)
    refuse_pickles(folder)
    architecture = str((config.get("architectures") or ["none"])[0])
    if not pools(architecture):
        raise CheckpointRefused(
            f"The checkpoint's architecture is `{architecture}`; the native engine pools "
            f"{', '.join(POOLED_FAMILIES)}, each with one of the endings {', '.join(POOLED_HEADS)}."
        )
    task = _task(settings, folder, config)
    template = find_template(folder, settings.rerank_template, task)
    sentence = read_sentence(folder, architecture) if task is Task.EMBED else None
    dtype = choose_dtype(settings.dtype, settings.device, pools=True)
    model_class = class_of(folder, architecture)
    # A vector of hidden states is made by the body alone.
    reads_head = sentence is None or sentence.splade is not None
    emulated = _read_module(model_class, folder, config, dtype, reads_head=reads_head)
    module: Any = emulated.module
    module.eval().requires_grad_(False).to(settings.device)
    module.config.use_cache = False
    dense = load_dense(sentence.dense, dtype, settings.device) if sentence else ()
    for part in (module, *dense):
        refuse_not_finite(part)
    head = _head(task, sentence, dense, template)
    return LoadedEncoder(
        task=task, module=module, head=head, sentence=sentence, dense=dense, template=template,
        emulated=left_emulated(emulated, torch.device(settings.device), dtype),
    )  # fmt: skip


def _task(settings: EngineSettings, folder: Path, config: Mapping[str, Any]) -> Task:
    task = read_task(folder, config)
    if task in (Task.GENERATE, Task.EMBED):
        return Task.EMBED if settings.rerank_template is None else Task.RERANK
    return task


def _read_module(
    model_class: Any,
    folder: Path,
    config: Mapping[str, Any],
    dtype: torch.dtype,
    *,
    reads_head: bool,
) -> EmulatedModel:
    attention = "sdpa" if model_class._supports_sdpa else "eager"
    scheme = read_scheme(folder, config)
    if scheme is not None:
        return load_emulated(model_class, folder, scheme, dtype=dtype, attention=attention)
    with refusing_config(folder, model_class):
        module, report = model_class.from_pretrained(
            folder, dtype=dtype, attn_implementation=attention, use_safetensors=True,
            local_files_only=True, output_loading_info=True, ignore_mismatched_sizes=True,
        )  # fmt: skip
    missing = sorted(report["missing_keys"])
    if not reads_head:
        missing = [name for name in missing if _is_read(name, module)]
    refuse_unfit(module, report, missing)
    return EmulatedModel(module=module)


def _is_read(name: str, module: Any) -> bool:
    """Whether a tensor belongs to the body, its unused parts left out."""
    prefix = f"{module.base_model_prefix}."
    is_of_body = module.base_model is module or name.startswith(prefix)
    return is_of_body and not name.removeprefix(prefix).startswith(_UNUSED)


def _head(
    task: Task,
    sentence: Sentence | None,
    dense: Sequence[nn.Module],
    template: PairTemplate | None,
) -> Head:
    if template is not None and template.answers is not None:
        return AnswerHead(template.answers)
    if sentence is None:
        return score_texts if task is Task.CLASSIFY else score_tokens
    if sentence.splade is not None:
        return SpladeHead(sentence.splade, normalizes=sentence.normalizes)
    return SentenceHead(sentence, dense)
