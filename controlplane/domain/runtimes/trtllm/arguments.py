"""`patch_kwargs` of the v2 stack -> keys of the YAML, flags, and what is left out."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from controlplane.domain.facts.engine_argument_names import (
    BUILT_FROM_ELSEWHERE,
    DECODING_TYPES,
    KNOWN_ARGUMENTS,
    ROUTER_ARGUMENTS,
)
from controlplane.domain.runtimes.trtllm.fields import (
    BLOCKS,
    DRAFTS,
    DRAFTS_SINCE_1_3,
    NOT_IN_1_2,
    OF_EVERY_DRAFT,
)

_UPPER = {
    "scheduler_config": ("capacity_scheduler_policy", "context_chunking_policy"),
    "cache_transceiver_config": ("backend",),
    "moe_config": ("backend",),
}
_OF_THE_FRONT = ("model_path", "chat_processor", "tokenizer_limit_length", "model_level_stop_words")
_DRAFT_MODEL = ("speculative_model_dir", "speculative_model", "speculative_model_path")
_BY_LOWER = {name.lower(): name for name in DECODING_TYPES} | {"drafttarget": "Draft_Target"}
_SPELLING_IN_1_2 = {"Draft_Target": "DraftTarget", "Eagle3": "Eagle"}
"""1.2 looks drafts up by these names, and by `Eagle` means Eagle 3; 1.3 goes by its classes' own.

Source: `DecodingBaseConfig.from_dict` before 1.3 and `decoding_type` of each class since, checked
2026-11-28.
"""
_PARSERS = ("tool_parser", "tool_call_parser")
_RENAMED = {"autotuner_enabled": "enable_autotuner", "enable_autotune": "enable_autotuner"}
_NEVER = "Code from a checkpoint is never run."


@dataclass(kw_only=True)
class Sorted:
    keys: dict[str, Any] = field(default_factory=dict)
    flags: dict[str, str] = field(default_factory=dict)
    left: dict[str, str] = field(default_factory=dict)
    """Path below `patch_kwargs` -> why the engine is not told."""


def sort_arguments(arguments: Mapping[str, Any], version: str) -> Sorted:
    """Return the arguments as this version takes them, and those that it would end at."""
    sorted_arguments = Sorted()
    for name, value in arguments.items():
        if name in _PARSERS and isinstance(value, str):
            sorted_arguments.flags["tool_parser"] = value
        elif name == "speculative_config" and isinstance(value, Mapping):
            _add_drafts(sorted_arguments, value, version)
        elif reason := _reason(name, value, version):
            sorted_arguments.left[name] = reason
        elif name == "enable_trtllm_sampler":
            sorted_arguments.keys["sampler_type"] = "TRTLLMSampler" if value else "auto"
        elif name in BLOCKS and isinstance(value, Mapping):
            sorted_arguments.keys[name] = _block(sorted_arguments, name, value, version)
        else:
            sorted_arguments.keys[_RENAMED.get(name, name)] = value
    return sorted_arguments


def _reason(name: str, value: Any, version: str) -> str | None:
    if name == "trust_remote_code" and value is True:
        return _NEVER
    if name == "tokenizer_mode" and value not in ("auto", "slow"):
        return f"TensorRT-LLM {version} takes `auto` or `slow`, and would end at start."
    if name in BUILT_FROM_ELSEWHERE:
        return f"It is decided by {BUILT_FROM_ELSEWHERE[name]}."
    if name in ROUTER_ARGUMENTS:
        return "It belongs to the hosted product's router; the gateway here has no such setting."
    if name in _OF_THE_FRONT:
        return "It belongs to the hosted product's server around the engine."
    if name not in KNOWN_ARGUMENTS:
        return f"TensorRT-LLM {version} has no such argument, and would end at start."
    return None


def _block(
    sorted_arguments: Sorted, name: str, given: Mapping[str, Any], version: str
) -> dict[str, Any]:
    allowed = BLOCKS[name] - (NOT_IN_1_2.get(name, frozenset()) if version == "1.2" else set())
    kept = {}
    for key, value in given.items():
        if key not in allowed:
            sorted_arguments.left[f"{name}.{key}"] = (
                f"`{name}` of TensorRT-LLM {version} has no such key."
            )
        elif key in _UPPER.get(name, ()) and isinstance(value, str):
            kept[key] = value.upper()
        else:
            kept[key] = value
    return kept


def _add_drafts(sorted_arguments: Sorted, given: Mapping[str, Any], version: str) -> None:
    decoding_type = str(given.get("decoding_type", ""))
    kind = _BY_LOWER.get(decoding_type.lower())
    if kind is None or kind not in DRAFTS:
        sorted_arguments.left["speculative_config"] = (
            f"`{decoding_type}` cannot be asked for in a file."
        )
        return
    if kind in DRAFTS_SINCE_1_3 and version == "1.2":
        sorted_arguments.left["speculative_config"] = f"`{kind}` came with TensorRT-LLM 1.3."
        return
    spelled = _SPELLING_IN_1_2.get(kind, kind) if version == "1.2" else kind
    content = {"decoding_type": spelled}
    for key, value in given.items():
        if key in _DRAFT_MODEL:
            content["speculative_model_dir"] = value
        elif key in OF_EVERY_DRAFT | DRAFTS[kind]:
            content[key] = value
        elif key != "decoding_type":
            sorted_arguments.left[f"speculative_config.{key}"] = f"`{kind}` has no such key."
    sorted_arguments.keys["speculative_config"] = content | _sizes(kind, content)


def _sizes(kind: str, content: Mapping[str, Any]) -> dict[str, Any]:
    """Return what must be written out: 1.2.1 matches nothing where the size is not given."""
    if kind != "NGram":
        return {}
    return {
        "max_matching_ngram_size": content.get("max_matching_ngram_size") or 2,
        "is_public_pool": content.get("is_public_pool", False),
    }
