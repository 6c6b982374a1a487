"""What stands inside an argument of vLLM that is a mapping, and which of it is not passed on."""

from collections.abc import Iterator, Mapping
from typing import Any

from controlplane.domain.facts.vllm_argument_keys import INSIDE, Inside
from controlplane.domain.runtimes.vllm.parsers import SINCE, Kind

_SHOWN = 6
_PARSER = "reasoning_parser"


def unlisted(name: str, value: Any, version: str) -> str | None:
    inside = INSIDE.get(name)
    if inside is None or not isinstance(value, Mapping):
        return None
    return next(_faults(name, value, inside, version), None)


def _faults(path: str, given: Mapping[Any, Any], inside: Inside, version: str) -> Iterator[str]:
    for key, value in given.items():
        at, name = f"{path}.{key}", str(key)
        if isinstance(value, Mapping) and name in inside.blocks:
            yield from _faults(at, value, inside.blocks[name], version)
        elif not _passes(name, value, inside):
            yield _not_listed(at, path, inside)
        elif name in inside.words and value not in (words := _words(inside, name)):
            yield f"`{at}` takes one of {_quoted(words)}; any other could load code."
        elif name == _PARSER and SINCE[Kind.REASONING].get(str(value), "none") > version:
            yield f"vLLM {version} has no parser of reasoning named `{value}`."


def _passes(name: str, value: Any, inside: Inside) -> bool:
    if inside.takes_any:
        return True
    is_flat = not isinstance(value, Mapping)
    return is_flat and (name in inside.plain.split() or name in inside.words)


def _words(inside: Inside, name: str) -> tuple[str, ...]:
    return tuple("" if word == '""' else word for word in inside.words[name].split())


def _not_listed(at: str, path: str, inside: Inside) -> str:
    if path.partition(".")[0] == "hf-overrides":
        return (
            f"`{at}` is not passed on: it may load code, or change what checks and memory plan "
            "read of the checkpoint. Change the checkpoint's own config.json instead."
        )
    shown = _quoted(inside.keys[:_SHOWN]) + (" and more" if len(inside.keys) > _SHOWN else "")
    return f"`{at}` is not passed on. Of `{path}` a config passes {shown}."


def _quoted(words: tuple[str, ...]) -> str:
    return ", ".join(f"`{word}`" for word in words if word)
