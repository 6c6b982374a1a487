"""Which files of a repository a runtime reads: those are fetched, and nothing else."""

import re
from collections.abc import Iterable, Sequence

from controlplane.artifacts.digests import checked_path
from controlplane.artifacts.failures import ArtifactFailure
from controlplane.domain.failures.registry import any_source
from controlplane.domain.spec import CheckpointRepository
from controlplane.domain.storable import is_storable, spelled
from controlplane.sources.failures import (
    gguf_only,
    incomplete,
    pickled_weights,
    source_failure,
)

_PICKLED = re.compile(r".*\.(bin|pt|pth|pkl|pickle|ckpt)")
_SHARD = re.compile(r"(?P<stem>.+)-(?P<number>\d{5})-of-(?P<count>\d{5})\.safetensors")
_SMALL = re.compile(r".*\.(json|jinja|model|tiktoken)|merges\.txt|vocab\.txt|sentencepiece\.bpe.*")
# Left by trainers: megabytes of history that no runtime opens.
_HISTORY = re.compile(r"(trainer_state|.*_results|training_args|optimizer|scheduler)\.json")
# Pooling and dense layers of sentence encoders, and named chat templates.
_FOLDERS = re.compile(r"\d+_[A-Za-z]+|additional_chat_templates")
_CODE = re.compile(r"[^/]+\.py")
ADAPTER_FILES = ("adapter_config.json", "adapter_model.safetensors")
_SINGLE, _INDEX = "model.safetensors", "model.safetensors.index.json"


def select(
    checkpoint: CheckpointRepository, names: Iterable[str], *, is_adapter: bool = False
) -> tuple[str, ...]:
    """Return the names that a runtime reads, sorted; refuse what is no loadable checkpoint."""
    listed = sorted(names)
    for name in listed:
        _check_name(checkpoint, name)
    if is_adapter:
        return _adapter_files(checkpoint, listed)
    quantized = [name for name in listed if name.endswith(".gguf")]
    if quantized and not any(name.endswith(".safetensors") for name in listed):
        raise gguf_only(checkpoint, quantized)
    if "config.json" not in listed:
        raise source_failure(any_source.NOT_A_CHECKPOINT, checkpoint, missing="`config.json`")
    weights = _weights(checkpoint, [each for each in listed if "/" not in each])
    small = [each for each in listed if _is_small(each)]
    if _SINGLE in weights and _INDEX in small:
        # Both forms at once: Transformers opens the single file, so that is the model.
        small.remove(_INDEX)
    nested = [each for each in listed if each.endswith(".safetensors") and _in_folder(each)]
    return tuple(sorted({*weights, *small, *nested}))


def select_code(names: Iterable[str]) -> tuple[str, ...]:
    """Return the names of a checkpoint's own Python files, sorted: those at its top."""
    return tuple(sorted(name for name in names if _CODE.fullmatch(name)))


def _check_name(checkpoint: CheckpointRepository, name: str) -> None:
    if not is_storable(name):
        raise source_failure(any_source.NAME_UNREADABLE, checkpoint, name=spelled(name))
    try:
        checked_path(name)
    except ArtifactFailure:
        raise source_failure(any_source.NAME_OUTSIDE, checkpoint, name=name) from None


def _adapter_files(checkpoint: CheckpointRepository, listed: Sequence[str]) -> tuple[str, ...]:
    config, weights = ADAPTER_FILES
    if config not in listed:
        raise source_failure(
            any_source.NOT_A_CHECKPOINT,
            checkpoint,
            missing=f"`{config}`, which every LoRA adapter of PEFT has",
        )
    if weights in listed:
        return ADAPTER_FILES
    if pickles := [each for each in listed if _PICKLED.fullmatch(each)]:
        raise pickled_weights(checkpoint, pickles)
    raise source_failure(any_source.NOT_A_CHECKPOINT, checkpoint, missing=f"`{weights}`")


def _weights(checkpoint: CheckpointRepository, top_level: Sequence[str]) -> list[str]:
    weights = [each for each in top_level if each.endswith(".safetensors")]
    if not weights:
        if pickles := [each for each in top_level if _PICKLED.fullmatch(each)]:
            raise pickled_weights(checkpoint, pickles)
        raise source_failure(any_source.NOT_A_CHECKPOINT, checkpoint, missing="safetensors weights")
    if _SINGLE in weights:
        return [_SINGLE]
    shards = [each for each in weights if _SHARD.fullmatch(each)]
    model = [each for each in shards if each.startswith("model-")] or shards
    if not model:
        return weights
    _check_complete(checkpoint, model)
    return model


def _check_complete(checkpoint: CheckpointRepository, shards: Sequence[str]) -> None:
    first = _SHARD.fullmatch(shards[0])
    assert first is not None
    count = int(first["count"])
    names = [
        f"{first['stem']}-{number:05}-of-{count:05}.safetensors" for number in range(1, count + 1)
    ]
    if missing := [each for each in names if each not in shards]:
        raise incomplete(checkpoint, missing)


def _is_small(name: str) -> bool:
    if "/" in name and not _in_folder(name):
        return False
    base = name.rpartition("/")[2]
    return bool(_SMALL.fullmatch(base)) and not _HISTORY.fullmatch(base)


def _in_folder(name: str) -> bool:
    folder, _, base = name.rpartition("/")
    return bool(base) and bool(_FOLDERS.fullmatch(folder))
