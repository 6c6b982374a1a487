"""Flags that the v2 stack alone holds, as engine arguments that it passes on.

The names are TensorRT-LLM's, and `engine_keys` says each of them as the flag it came from.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from controlplane.domain.commands.draft import Draft
from controlplane.domain.commands.numbers import clean, fraction, json_value, whole_number
from controlplane.domain.commands.options import Option
from controlplane.domain.facts.overrides import code_keys
from controlplane.domain.runtimes.vllm.capabilities import VERSION
from controlplane.domain.runtimes.vllm.parsers import Kind, parser_for

PATCH = "trt_llm.runtime.patch_kwargs"
_WITHOUT = "It is what happens without the flag, here too."
_NO_TOOLS = "vLLM calls no tools by itself unless `--tool-call-parser` says in which form."
_TOOLS_AT_ONCE = (
    "Tools are called as soon as their parser is named, as by `--enable-auto-tool-choice`."
)
_PART = "A part of a larger value; write the whole as one JSON object to have it carried."
_GRAPHS = "cuda_graph_config"
_GRAPH_SIZES = f"{_GRAPHS}.batch_sizes"
_LARGEST_GRAPH = f"{_GRAPHS}.max_batch_size"
_UNSET = "The value is set outside of what was pasted."


@dataclass(frozen=True, kw_only=True)
class Held:
    """What a flag becomes below `patch_kwargs`."""

    flag: str
    path: str
    value: Any
    reason: str = ""
    """Why it does not mean the same, where it does not."""


@dataclass(frozen=True, kw_only=True)
class Left:
    flag: str
    reason: str


def read_engine_options(given: Sequence[Option]) -> tuple[Held | Left, ...]:
    """Return what each of these flags becomes; a flag that is not named here is for others."""
    named = [option for option in given if option.name in NAMES]
    parts = [option for option in named if option.path and option.path != ("backend",)]
    results: list[Held | Left] = [Left(flag=part.text, reason=_PART) for part in parts]
    options = {option.name: option for option in named if option not in parts}
    results += [*_parsers(options), *_overrides(options)]
    for name, read in _READERS.items():
        if name in options:
            results.append(_unset(options[name]) or read(options[name]))
    return tuple(_without_contradictions(results))


def _without_contradictions(results: list[Held | Left]) -> Iterator[Held | Left]:
    """Yield what was found; of what two flags say otherwise, one is left with the reason."""
    paths = [each.path for each in results if isinstance(each, Held)]
    for number, each in enumerate(results):
        if isinstance(each, Left):
            yield each
        elif _GRAPHS in paths and each.path.startswith(f"{_GRAPHS}."):
            yield Left(flag=each.flag, reason="`--enforce-eager` turns graphs off.")
        elif each.path == _LARGEST_GRAPH and _GRAPH_SIZES in paths:
            yield Left(flag=each.flag, reason="The largest of the sizes that are given says it.")
        elif any(isinstance(one, Held) and one.path == each.path for one in results[number + 1 :]):
            yield Left(flag=each.flag, reason="Another flag of the line says it otherwise.")
        else:
            yield each


def carry_held(draft: Draft, setting: Held) -> None:
    path = f"{PATCH}.{setting.path}"
    if setting.reason:
        draft.change(setting.flag, path, setting.value, setting.reason)
    else:
        draft.carry(setting.flag, path, setting.value)


def _unset(option: Option) -> Left | None:
    unknown = any(word.unknown for word in option.values)
    return Left(flag=option.text, reason=_UNSET) if unknown else None


def _parsers(options: Mapping[str, Option]) -> list[Held | Left]:
    results: list[Held | Left] = []
    tools, auto = options.get("tool-call-parser"), options.get("enable-auto-tool-choice")
    if tools:
        flag = f"{auto.text} {tools.text}" if auto else tools.text
        reason = "" if auto and auto.is_on else _TOOLS_AT_ONCE
        results.append(_parser(tools, flag, "tool_parser", Kind.TOOLS, reason))
    elif auto:
        results.append(Left(flag=auto.text, reason=_NO_TOOLS))
    if reasoning := options.get("reasoning-parser"):
        results.append(_parser(reasoning, reasoning.text, "reasoning_parser", Kind.REASONING, ""))
    return results


def _parser(option: Option, flag: str, name: str, kind: Kind, reason: str) -> Held | Left:
    if option.value.unknown:
        return Left(flag=flag, reason=_UNSET)
    named = clean(option.value)
    if parser_for(kind, named, VERSION) is None:
        return Left(flag=flag, reason=f"vLLM {VERSION} has no parser of {kind} named `{named}`.")
    return Held(flag=flag, path=name, value=named, reason=reason)


def _overrides(options: Mapping[str, Option]) -> list[Held | Left]:
    """Return the values of `config.json` that a line overrides, as one mapping."""
    names = ("hf-overrides", "rope-scaling", "rope-theta")
    given = [options[name] for name in names if name in options]
    if not given:
        return []
    flag = " ".join(option.text for option in given)
    content: dict[str, Any] = {}
    for option in given:
        value = _override(option)
        if value is None:
            return [Left(flag=flag, reason=f"The value of `{option.flag}` cannot be read as data.")]
        content |= value
    if named := code_keys(content):
        return [
            Left(flag=flag, reason=f"`{named[0]}` loads code or files, which no config passes.")
        ]
    return [Held(flag=flag, path="model_kwargs", value=content)]


def _override(option: Option) -> Mapping[str, Any] | None:
    text = clean(option.value)
    if option.name == "rope-theta":
        theta = fraction(text)
        return None if theta is None else {"rope_theta": theta}
    given = json_value(text)
    if not isinstance(given, Mapping) or option.path:
        return None
    return {"rope_scaling": dict(given)} if option.name == "rope-scaling" else given


def _switch(path: str, *, on: Any, off: Any) -> Callable[[Option], Held | Left]:
    """Return the reader of a switch; `...` is what happens without it."""

    def read(option: Option) -> Held | Left:
        value = on if option.is_on else off
        if value is ...:
            return Left(flag=option.text, reason=_WITHOUT)
        return Held(flag=option.text, path=path, value=value)

    return read


def _word(path: str) -> Callable[[Option], Held | Left]:
    def read(option: Option) -> Held | Left:
        text = clean(option.value)
        if text in ("auto", ""):
            return Left(flag=option.text, reason=_WITHOUT)
        return Held(flag=option.text, path=path, value=text)

    return read


def _number(path: str) -> Callable[[Option], Held | Left]:
    def read(option: Option) -> Held | Left:
        value = whole_number(clean(option.value))
        if value is None:
            return Left(flag=option.text, reason=f"`{clean(option.value)}` is not a number.")
        return Held(flag=option.text, path=path, value=value)

    return read


def _sizes(option: Option) -> Held | Left:
    numbers = [whole_number(clean(word)) for word in option.values]
    if not numbers or None in numbers:
        return Left(flag=option.text, reason="It takes numbers.")
    return Held(flag=option.text, path=_GRAPH_SIZES, value=numbers)


def _guided(option: Option) -> Held | Left:
    text = clean(option.value)
    given = json_value(text)
    backend = given.get("backend") if isinstance(given, Mapping) else option.path or text
    backend = text if backend == ("backend",) else backend
    ours = {"xgrammar": "xgrammar", "guidance": "llguidance"}.get(str(backend))
    if ours is None or (isinstance(given, Mapping) and len(given) > 1):
        return Left(
            flag=option.text,
            reason="Of these, the backend `xgrammar` or `guidance` alone has a setting.",
        )
    return Held(flag=option.text, path="guided_decoding_backend", value=ours)


_READERS: Mapping[str, Callable[[Option], Held | Left]] = {
    "enforce-eager": _switch("cuda_graph_config", on=None, off=...),
    "cudagraph-capture-sizes": _sizes,
    "max-cudagraph-capture-size": _number(_LARGEST_GRAPH),
    "async-scheduling": _switch("disable_overlap_scheduler", on=..., off=True),
    "enable-prefix-caching": _switch("kv_cache_config.enable_block_reuse", on=..., off=False),
    "disable-prefix-caching": _switch("kv_cache_config.enable_block_reuse", on=False, off=...),
    "enable-sleep-mode": _switch("enable_sleep", on=True, off=...),
    "stream-interval": _number("stream_interval"),
    "dtype": _word("dtype"),
    "tokenizer-mode": _word("tokenizer_mode"),
    "guided-decoding-backend": _guided,
    "structured-outputs-config": _guided,
}
NAMES = frozenset(_READERS) | {
    "tool-call-parser", "enable-auto-tool-choice", "reasoning-parser", "rope-scaling", "rope-theta",
    "hf-overrides",
}  # fmt: skip
"""Flags that are read here."""
