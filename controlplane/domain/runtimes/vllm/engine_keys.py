"""Engine arguments of the v2 stack, by TensorRT-LLM's names -> vLLM's flags."""

import json
from collections.abc import Callable, Mapping
from typing import Any

from controlplane.domain.commands.command_writer import CommandWriter
from controlplane.domain.facts.gpus import GIB
from controlplane.domain.facts.overrides import code_keys
from controlplane.domain.runtimes.vllm.capabilities import VERSION
from controlplane.domain.runtimes.vllm.drafts import draft_words
from controlplane.domain.runtimes.vllm.parsers import Kind, parser_for
from controlplane.domain.spec.trt_llm import TrtLlmV2

PATCH = "trt_llm.runtime.patch_kwargs"
NO_COUNTERPART = "vLLM has no argument that means this."
_NO_PARSER = "vLLM has no parser of that name in this version, and would end at start."
_OF_ROUTER = "It belongs to the hosted product's router; the gateway here has no such setting."
_CODE = "Code from a checkpoint is never run."
_DECIDED = "It is decided elsewhere in the config."
_REASONS: Mapping[str, str] = {
    "trust_remote_code": _CODE, "checkpoint_loader": _CODE, "model_kwargs": _CODE,
    **dict.fromkeys(("model", "model_path", "revision", "quant_config", "build_config"), _DECIDED),
    **dict.fromkeys(("b10_routing_config", "b10_disagg_config", "is_disaggregated",
                     "b10_autoscaling_config"), _OF_ROUTER),
    "backend": "It names a backend of TensorRT-LLM.",
    "attn_backend": "It names a kernel of TensorRT-LLM; vLLM chooses its own by the GPU.",
    **dict.fromkeys(("tool_parser", "tool_call_parser", "reasoning_parser"), _NO_PARSER),
}  # fmt: skip
_CACHE_TYPES = {"fp8": "fp8", "auto": "auto", "bfloat16": "bfloat16", "float16": "float16"}

Words = tuple[object, ...] | None

EXPERT_RANKS = "moe_expert_parallel_size"
DENSE_REASON = "vLLM fails to start where a model without experts is asked to divide them."


def say_engine_arguments(
    line: CommandWriter, *, devices: int = 1, version: str = VERSION, has_experts: bool = True
) -> None:
    """Add the flags of the arguments that have one, and say which have none."""
    arguments = arguments_of(line)
    if not arguments:
        return
    for name, value in sorted(arguments.items()):
        if name == "kv_cache_config" and isinstance(value, Mapping):
            _say_cache(line, value, devices)
            continue
        if name == EXPERT_RANKS and not has_experts:
            line.leave(f"{PATCH}.{name}", DENSE_REASON)
            continue
        words = _words(name, value, arguments, version)
        if words is None:
            line.miss(f"{PATCH}.{name}", _REASONS.get(name, NO_COUNTERPART))
        else:
            line.say(f"{PATCH}.{name}", *words)
    line.say(PATCH)


def untranslated(arguments: Mapping[str, Any], version: str = VERSION) -> tuple[str, ...]:
    """Return the arguments that no flag says, by their path below `patch_kwargs`."""
    cache = arguments.get("kv_cache_config")
    inner = cache.items() if isinstance(cache, Mapping) else ()
    return (
        *(name for name, value in sorted(arguments.items())
          if not (name == "kv_cache_config" and isinstance(value, Mapping))
          and _words(name, value, arguments, version) is None),
        *(f"kv_cache_config.{name}" for name, value in inner
          if _cache_words(name, value, 1) is None),
    )  # fmt: skip


def flags_of(arguments: Mapping[str, Any], version: str = VERSION) -> Mapping[str, str]:
    """Return the flags that the arguments become, each with the argument below `patch_kwargs`."""
    flags = {
        flag: name
        for name, value in arguments.items()
        if name != "kv_cache_config"
        for flag in _flags(_words(name, value, arguments, version))
    }
    cache = arguments.get("kv_cache_config")
    for name, value in cache.items() if isinstance(cache, Mapping) else ():
        for flag in _flags(_cache_words(name, value, 1)):
            flags[flag] = f"kv_cache_config.{name}"
    return flags


def _flags(words: Words) -> tuple[str, ...]:
    texts = [word for word in words or () if isinstance(word, str) and word.startswith("--")]
    return tuple(f"--{text.removeprefix('--').removeprefix('no-')}" for text in texts)


def arguments_of(line: CommandWriter) -> Mapping[str, Any]:
    """Return the arguments that a config passes on; none in the v1 stack."""
    engine = line.spec.trt_llm
    return engine.runtime.patch_kwargs if isinstance(engine, TrtLlmV2) else {}


def _words(name: str, value: Any, arguments: Mapping[str, Any], version: str) -> Words:
    if value is None and name != "cuda_graph_config":
        return ()
    if name == "speculative_config":
        return draft_words(value) if isinstance(value, Mapping) else None
    if name in _PARSERS:
        kind, words = _PARSERS[name]
        parser = parser_for(kind, value, version)
        return None if parser is None else (*words, parser)
    if name in _SWITCHES:
        return _SWITCHES[name].get(value) if isinstance(value, bool) else None
    if name in _VALUES and isinstance(value, int | str):
        return (_VALUES[name], value)
    translate = _TRANSLATED.get(name)
    return translate(value, arguments) if translate else None


def _say_cache(line: CommandWriter, cache: Mapping[str, Any], devices: int) -> None:
    for name, value in sorted(cache.items()):
        path = f"{PATCH}.kv_cache_config.{name}"
        words = _cache_words(name, value, devices)
        if words is None:
            line.miss(path, NO_COUNTERPART)
        else:
            line.say(path, *words)


def _cache_words(name: str, value: Any, devices: int) -> Words:
    match name, value:
        case _, None:
            return ()
        case "free_gpu_memory_fraction", _:
            return ()  # the driver's own share of memory follows from it
        case "enable_block_reuse", bool():
            return (f"--{'' if value else 'no-'}enable-prefix-caching",)
        case "dtype", str() if value.lower() in _CACHE_TYPES:
            return ("--kv-cache-dtype", _CACHE_TYPES[value.lower()])
        case "host_cache_size", int():
            return ("--kv-offloading-size", value * devices / GIB)
    return None


def _graphs(value: Any, _: Mapping[str, Any]) -> Words:
    if value is None:
        return ("--enforce-eager",)
    if not isinstance(value, Mapping):
        return None
    sizes, most = value.get("batch_sizes"), value.get("max_batch_size")
    if isinstance(sizes, list):
        return ("--cudagraph-capture-sizes", *sizes)
    return ("--max-cudagraph-capture-size", most) if isinstance(most, int) and most else ()


def _guided(value: Any, _: Mapping[str, Any]) -> Words:
    backends = {"xgrammar": "xgrammar", "llguidance": "guidance"}
    if value not in backends:
        return None
    return ("--structured-outputs-config", json.dumps({"backend": backends[value]}))


def _overrides(value: Any, _: Mapping[str, Any]) -> Words:
    if not isinstance(value, Mapping) or code_keys(value):
        return None
    return ("--hf-overrides", json.dumps(value))


def _experts(value: Any, arguments: Mapping[str, Any]) -> Words:
    return ("--enable-expert-parallel",) if isinstance(value, int) and value > 1 else ()


_SWITCHES: Mapping[str, Mapping[bool, Words]] = {
    "disable_overlap_scheduler": {True: ("--no-async-scheduling",), False: ()},
    "enable_iter_perf_stats": {True: (), False: ("--disable-log-stats",)},
    "return_perf_metrics": {True: (), False: None},
    "enable_autotuner": {True: (), False: None},
    "autotuner_enabled": {True: (), False: None},
    "enable_autotune": {True: (), False: None},
    "enable_sleep": {True: ("--enable-sleep-mode",), False: ()},
    "trust_remote_code": {True: None, False: ()},
    "is_disaggregated": {True: None, False: ()},
    "enable_attention_dp": {True: None, False: ()},
}
_TOOL_FLAGS = ("--enable-auto-tool-choice", "--tool-call-parser")
_PARSERS: Mapping[str, tuple[Kind, tuple[str, ...]]] = {
    "tool_parser": (Kind.TOOLS, _TOOL_FLAGS),
    "tool_call_parser": (Kind.TOOLS, _TOOL_FLAGS),
    "reasoning_parser": (Kind.REASONING, ("--reasoning-parser",)),
}
_VALUES: Mapping[str, str] = {
    "pipeline_parallel_size": "--pipeline-parallel-size",
    "stream_interval": "--stream-interval",
    "dtype": "--dtype",
    "tokenizer_mode": "--tokenizer-mode",
}
_TRANSLATED: Mapping[str, Callable[[Any, Mapping[str, Any]], Words]] = {
    "cuda_graph_config": _graphs,
    "guided_decoding_backend": _guided,
    EXPERT_RANKS: _experts,
    "model_kwargs": _overrides,
}
