"""Reads a checkpoint folder and gives back a model that pools."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import transformers
from torch import nn

from controlplane.domain.runtimes.native.capabilities import POOLED_FAMILIES, POOLED_HEADS, pools
from workers.engine.checkpoint_folder import read_config, refuse_pickles
from workers.engine.errors import CheckpointRefused
from workers.engine.loader import choose_dtype
from workers.engine.pooling.dense import load_dense
from workers.engine.pooling.heads import Head, SentenceHead, SpladeHead, score_texts, score_tokens
from workers.engine.pooling.sentence import Sentence, read_sentence
from workers.engine.quantized_loader import load_emulated
from workers.engine.scheme import read_scheme
from workers.engine.settings import EngineSettings
from workers.engine.task import Task, read_task

POSITIONS_AFTER_PADDING = frozenset({"roberta", "xlm-roberta", "mpnet"})
"""Families that number positions from the padding token's id on, and so have fewer to give."""

_UNUSED = ("pooler.",)
"""Tensors of a body that no embedding is made of; many checkpoints leave them out."""


@dataclass(frozen=True, kw_only=True)
class LoadedEncoder:
    """A model ready to pool, and what the engine must know of it."""

    task: Task
    module: nn.Module
    head: Head
    sentence: Sentence | None
    """How embeddings are made, for a model that makes any."""
    dense: Sequence[nn.Sequential]
    labels: tuple[str, ...]
    max_positions: int
    vocabulary_size: int
    weights_bytes: int
    emulated: tuple[str, ...] = ()

    @property
    def dimensions(self) -> int:
        """Numbers of one vector."""
        config: Any = self.module.config
        if self.sentence is None or self.sentence.splade is not None:
            return config.vocab_size
        if self.dense:
            return self.dense[-1][0].out_features
        return config.hidden_size * len(self.sentence.modes)

    @property
    def has_types(self) -> bool:
        """Whether the model tells the texts of a pair apart by a type per token."""
        return getattr(self.module.config, "type_vocab_size", 0) > 1

    @property
    def padding(self) -> int:
        """The token that fills a row; attention never sees it."""
        return getattr(self.module.config, "pad_token_id", None) or 0


def load_encoder(settings: EngineSettings) -> LoadedEncoder:
    """Read weights and facts of the folder. Raises: `CheckpointRefused` with the reason."""
    transformers.utils.logging.disable_progress_bar()
    folder = settings.model_dir
    config = read_config(folder)
    task = _pooling_task(folder, config)
    sentence = read_sentence(folder, _architecture(config)) if task is Task.EMBED else None
    dtype = choose_dtype(settings.dtype, settings.device)
    module, emulated = _read_module(folder, config, task, dtype)
    module.eval().requires_grad_(False).to(settings.device)
    module.config.use_cache = False
    dense = load_dense(sentence.dense, dtype, settings.device) if sentence else ()
    return LoadedEncoder(
        task=task,
        module=module,
        head=_head(task, sentence, dense),
        sentence=sentence,
        dense=dense,
        labels=_labels(module.config, task),
        max_positions=_positions(module.config),
        vocabulary_size=module.config.vocab_size,
        weights_bytes=_bytes([module, *dense]),
        emulated=emulated,
    )


def _pooling_task(folder: Path, config: Mapping[str, Any]) -> Task:
    refuse_pickles(folder)
    architecture = _architecture(config)
    if not pools(architecture):
        raise CheckpointRefused(
            f"The checkpoint's architecture is `{architecture or 'none'}`; the native engine pools "
            f"{', '.join(POOLED_FAMILIES)}, each with one of the endings {', '.join(POOLED_HEADS)}."
        )
    found = read_task(folder, config)
    return Task.EMBED if found is Task.GENERATE else found


def _read_module(
    folder: Path, config: Mapping[str, Any], task: Task, dtype: torch.dtype
) -> tuple[Any, tuple[str, ...]]:
    model_class = getattr(transformers, _architecture(config))
    attention = "sdpa" if model_class._supports_sdpa else "eager"
    scheme = read_scheme(folder, config)
    if scheme is not None:
        found = load_emulated(model_class, folder, scheme, dtype=dtype, attention=attention)
        return found.module, found.emulated
    module, report = model_class.from_pretrained(
        folder, dtype=dtype, attn_implementation=attention, use_safetensors=True,
        local_files_only=True, output_loading_info=True,
    )  # fmt: skip
    needed = [name for name in sorted(report["missing_keys"]) if _is_needed(name, module, task)]
    if needed:
        raise CheckpointRefused(
            f"The checkpoint has no tensor `{needed[0]}`, so its answers would be random. Fetch it "
            "again, or build from another one."
        )
    return module, ()


def _is_needed(name: str, module: Any, task: Task) -> bool:
    """Embeddings come from the body alone; scores need the head too."""
    prefix = f"{module.base_model_prefix}."
    is_bare = module.base_model is module
    if task is Task.EMBED and not is_bare and not name.startswith(prefix):
        return False
    return not (task is Task.EMBED and name.removeprefix(prefix).startswith(_UNUSED))


def _head(task: Task, sentence: Sentence | None, dense: Sequence[nn.Module]) -> Head:
    if sentence is None:
        heads: Mapping[Task, Callable[..., Any]] = {
            Task.CLASSIFY: score_texts,
            Task.LABEL_TOKENS: score_tokens,
        }
        return heads[task]
    if sentence.splade is not None:
        return SpladeHead(sentence.splade, normalizes=sentence.normalizes)
    return SentenceHead(sentence, dense)


def _labels(config: Any, task: Task) -> tuple[str, ...]:
    if task is Task.EMBED:
        return ()
    return tuple(config.id2label[index] for index in range(config.num_labels))


def _positions(config: Any) -> int:
    limit: int = config.max_position_embeddings
    if config.model_type in POSITIONS_AFTER_PADDING:
        return limit - config.pad_token_id - 1
    return limit


def _architecture(config: Mapping[str, Any]) -> str:
    return str((config.get("architectures") or [""])[0])


def _bytes(modules: Sequence[nn.Module]) -> int:
    return sum(p.numel() * p.element_size() for each in modules for p in each.parameters())
