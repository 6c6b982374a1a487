"""Where each key of `config.yaml` belongs: the schema turned round, for hints on unknown keys."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from types import UnionType
from typing import Any, Union, get_args, get_origin

from controlplane.domain.spec.document import Path
from controlplane.domain.spec.section import Section
from controlplane.domain.spec.spec import Spec
from controlplane.domain.spec.trt_llm import TrtLlmV1, TrtLlmV2

SUCCESSORS: Mapping[str, str] = {
    "tensor_parallel_size": "tensor_parallel_count",
    "tensor_parallel_count": "tensor_parallel_size",
    "enable_chunked_prefill": "enable_chunked_context",
    "enable_chunked_context": "enable_chunked_prefill",
    "rank": "max_lora_rank",
    "lora_rank": "max_lora_rank",
}
"""The same setting under its name in the other stack, or in other programs."""
FOREIGN: Mapping[str, str] = {
    "model": "trt_llm.build.checkpoint_repository.repo",
    "quantization": "trt_llm.build.quantization_type",
    "max_model_len": "trt_llm.build.max_seq_len",
    "max_num_seqs": "trt_llm.build.max_batch_size",
    "max_num_batched_tokens": "trt_llm.build.max_num_tokens",
    "tensor_parallel_size": "trt_llm.build.tensor_parallel_count",
    "pipeline_parallel_size": "trt_llm.build.pipeline_parallel_count",
}
"""Names from vLLM's command line, and the v1 setting that means the same."""
REMOVED: Mapping[str, str] = {
    "gemm_plugin": "It was taken back: the engine chooses its kernels by itself. Remove it.",
    "serve": "It was taken back: `trt_llm.runtime` replaced it.",
    "token": "Store it as a secret, list its name under `secrets`, and name it in "
    "`runtime_secret_name`.",
}
"""Settings of older versions and of other programs, with what to do instead."""
_MAX_LEVELS = 6


def keys_at(path: Path, *, stack: str) -> tuple[str, ...]:
    """Return the keys that the block at `path` may hold, or none where it is free-form."""
    blocks: list[type[Section] | _Named] = [_TOP]
    for step in path:
        blocks = [inner for block in blocks for inner in _step(block, step, stack)]
    sections = (block for block in blocks if not isinstance(block, _Named))
    return tuple(name for block in sections for name in block.model_fields)


def closest(key: str, path: Path, *, stack: str) -> str | None:
    """Return the key of this block that `key` is most likely a slip of."""
    known = keys_at(path, stack=stack)
    if SUCCESSORS.get(key) in known:
        return SUCCESSORS[key]
    matches = get_close_matches(key, known, n=1, cutoff=0.72)
    return matches[0] if matches else None


def nearest(key: str, *, stack: str) -> tuple[Path, str] | None:
    """Return the key of any block that `key` is nearly, where it is like no other as much."""
    matches = get_close_matches(key, _homes(stack), n=1, cutoff=0.85)
    return (homes(matches[0], stack=stack)[0], matches[0]) if matches else None


def homes(key: str, *, stack: str) -> tuple[Path, ...]:
    """Return the blocks that hold a key of this name, the engine's own first."""
    paths = _homes(stack).get(key, ())
    return tuple(sorted(paths, key=lambda path: (path[:1] != ("trt_llm",), len(path))))


_TOP = Spec


@dataclass(frozen=True)
class _Named:
    """Blocks of one kind under names of the user's own, such as adapters."""

    block: type[Section]


def _step(
    block: "type[Section] | _Named", step: str | int, stack: str
) -> "Iterator[type[Section] | _Named]":
    if isinstance(block, _Named):
        yield block.block
        return
    field = block.model_fields.get(step) if isinstance(step, str) else None
    if field is not None and _is_mapping(field.annotation):
        yield from map(_Named, _named_sections(field.annotation))
        return
    yield from _inside(block, step, stack)


def _named_sections(annotation: Any) -> Iterator[type[Section]]:
    for inner in get_args(annotation):
        if isinstance(inner, type) and issubclass(inner, Section):
            yield inner
        else:
            yield from _named_sections(inner)


def _inside(block: type[Section], step: str | int, stack: str) -> Iterator[type[Section]]:
    if isinstance(step, int):
        yield block
        return
    if block is Spec and step == "trt_llm":
        yield TrtLlmV2 if stack == "v2" else TrtLlmV1
        return
    field = block.model_fields.get(step)
    if field is None:
        return
    if _is_mapping(field.annotation):
        yield from ()
        return
    yield from _sections(field.annotation)


@cache
def _homes(stack: str) -> dict[str, tuple[Path, ...]]:
    paths_by_key: dict[str, tuple[Path, ...]] = {}
    for path, block in _walk(_TOP, (), stack):
        for name in block.model_fields:
            paths_by_key[name] = (*paths_by_key.get(name, ()), path)
    return paths_by_key


def _walk(block: type[Section], path: Path, stack: str) -> Iterator[tuple[Path, type[Section]]]:
    yield path, block
    if len(path) >= _MAX_LEVELS or "speculator" in path[:-1]:
        return
    for name, field in block.model_fields.items():
        if _is_list(field.annotation) or _is_mapping(field.annotation):
            continue
        for inner in _inside(block, name, stack):
            yield from _walk(inner, (*path, name), stack)


def _sections(annotation: Any) -> Iterator[type[Section]]:
    if isinstance(annotation, type) and issubclass(annotation, Section):
        yield annotation
    elif get_origin(annotation) not in (dict,):
        for inner in get_args(annotation):
            yield from _sections(inner)


def _is_mapping(annotation: Any) -> bool:
    return _holds(annotation, dict)


def _is_list(annotation: Any) -> bool:
    return _holds(annotation, list)


def _holds(annotation: Any, kind: type) -> bool:
    origin = get_origin(annotation)
    if origin in (Union, UnionType):
        return any(_holds(inner, kind) for inner in get_args(annotation))
    return origin is kind
