"""Which settings of a config an engine's words name: by argument, by value, or by number."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from controlplane.domain.dotted import value_at
from controlplane.domain.failures import fields

_LOOKED_AT = ("trt_llm", "resources", "enginehouse")
"""Blocks whose values are settings of engines; environment variables may hold secrets."""
_PATCHES = ("enginehouse.vllm_args", "trt_llm.runtime.patch_kwargs")
_LEAST_NUMBER = 100
"""Smaller ones stand in too many sentences to say anything."""
_SHORTEST_VALUE = 3
_PLAIN_WORD = re.compile(r"[a-z]+")
_DEFAULTS = {
    fields.SAMPLES: 1024,
    fields.SAMPLE_LENGTH: 1536,
    "trt_llm.runtime.total_token_limit": 500_000,
}
"""Numbers that stand in every dump, whoever wrote nothing."""
_ARGUMENTS: Mapping[str, str] = {
    "max_seq_len": r"max[_ -]model[_ -]len|max[_ -]seq(?:uence)?[_ -]len(?:gth)?",
    "max_batch_size": r"max[_-]num[_-]seqs|max[_-]batch[_-]size",
    "max_num_tokens": r"max[_-]num[_-]batched[_-]tokens|max[_-]num[_-]tokens",
    "tensor_parallel_count": r"tensor[_ -](?:model[_ -])?parallel(?:[_ -]size|ism)?|\btp[_-]?size",
    "pipeline_parallel_count": r"pipeline[_ -](?:model[_ -])?parallel(?:[_ -]size|ism)?|\bpp[_-]?"
    r"size",
    "moe_expert_parallel_option": r"expert[_ -]parallel(?:[_ -]size|ism)?|\bep[_-]?size",
    "kv_cache_free_gpu_mem_fraction": r"gpu[_-]memory[_-]utilization|free_gpu_memory_fraction",
    "enable_chunked_context": r"(?:enable[_-])?chunked[_ -](?:prefill|context)",
    "quantization_type": r"--quantization|\bquantization method|quant_algo|kv[_-]cache[_-]dtype",
    "speculator": r"num[_-]speculative[_-]tokens|speculative[_ -](?:config|decoding|model)|"
    r"max_draft_len|draft[_ -]model",
    "lora_configuration.max_lora_rank": r"max[_-]lora[_-]rank",
    "lora_adapters": r"\bmax[_-]loras\b|\blora[_-]modules\b|target_modules",
}  # fmt: skip
_OF_V2 = frozenset({"max_seq_len", "max_batch_size", "max_num_tokens"})
_IN_RUNTIME = frozenset({"kv_cache_free_gpu_mem_fraction", "enable_chunked_context"})
_RENAMED_IN_V2 = {
    "tensor_parallel_count": "trt_llm.runtime.tensor_parallel_size",
    "enable_chunked_context": "trt_llm.runtime.enable_chunked_prefill",
}
_MOVED = _OF_V2 | frozenset(_RENAMED_IN_V2)


@dataclass(frozen=True, kw_only=True)
class NamedSettings:
    """Dotted paths of settings that the words name."""

    arguments: tuple[str, ...]
    """By the name of an argument: the surer ones."""
    values: tuple[str, ...]
    """By what the config says there."""

    @property
    def all(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.arguments, *self.values)))


def settings_named(message: str, spec: Mapping[str, Any]) -> NamedSettings:
    by_argument = (*_by_own_argument(message, spec), *_by_argument(message, spec))
    by_value = _by_value(message, dict(_written(spec)))
    return NamedSettings(
        arguments=tuple(dict.fromkeys(by_argument)), values=tuple(dict.fromkeys(by_value))
    )


def in_stack(field: str, spec: Mapping[str, Any]) -> str:
    name = field.removeprefix("trt_llm.build.").removeprefix("trt_llm.runtime.")
    return _path_of(name, is_v2=True) if _is_v2(spec) and name in _MOVED else field


def _is_v2(spec: Mapping[str, Any]) -> bool:
    return bool(value_at(spec, "trt_llm.inference_stack") == "v2")


def _by_own_argument(message: str, spec: Mapping[str, Any]) -> Iterator[str]:
    """Yield what stands below `vllm_args` or `patch_kwargs` and is named as it is written."""
    for path in _PATCHES:
        block = value_at(spec, path)
        for name in block if isinstance(block, Mapping) else ():
            either = re.sub(r"\\-|_", "[_-]", re.escape(str(name)))
            if re.search(rf"(?<![\w-]){either}(?![\w-])", message):
                yield f"{path}.{name}"


def own_arguments_about(words: re.Pattern[str], spec: Mapping[str, Any]) -> Iterator[str]:
    """Yield what stands below `vllm_args` or `patch_kwargs` and is about what the words are."""
    for path in _PATCHES:
        block = value_at(spec, path)
        for name in block if isinstance(block, Mapping) else ():
            if words.search(str(name).replace("-", "_")):
                yield f"{path}.{name}"


def _by_argument(message: str, spec: Mapping[str, Any]) -> Iterator[str]:
    for name, words in _ARGUMENTS.items():
        if re.search(words, message, re.IGNORECASE):
            yield _path_of(name, is_v2=_is_v2(spec))


def _path_of(name: str, *, is_v2: bool) -> str:
    if is_v2 and name in _RENAMED_IN_V2:
        return _RENAMED_IN_V2[name]
    block = "runtime" if name in _IN_RUNTIME or (is_v2 and name in _OF_V2) else "build"
    return f"trt_llm.{block}.{name}"


def _by_value(message: str, written: Mapping[str, Any]) -> Iterator[str]:
    numbers = frozenset(re.findall(r"(?<![\w.])\d+(?![\w.]*\d)", message.replace(",", "")))
    for path, value in written.items():
        if isinstance(value, str):
            is_named = len(value) >= _SHORTEST_VALUE and _says(message, value)
        else:
            is_named = _DEFAULTS.get(path) != value and _is_among(numbers, value)
        if is_named:
            yield path


def _is_among(numbers: frozenset[str], value: Any) -> bool:
    return type(value) is int and value >= _LEAST_NUMBER and str(value) in numbers


def _says(message: str, value: str) -> bool:
    """Return whether the words name the value; a plain word counts between quotes alone."""
    word = re.escape(value)
    if _PLAIN_WORD.fullmatch(value):
        return re.search(rf"['\"`]{word}['\"`]", message) is not None
    return re.search(rf"(?<![\w./-]){word}(?![\w/-])", message) is not None


def _written(spec: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name in _LOOKED_AT:
        yield from _leaves(name, spec.get(name))


def _leaves(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    if path.endswith((fields.SECRET, ".version_overrides")):
        return
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _leaves(f"{path}.{name}", inner)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for inner in value:
            yield from _leaves(path, inner)
    else:
        yield path, value
