"""Values inside arguments of vLLM that it refuses at its start, whatever the model."""

from collections.abc import Iterator, Mapping
from typing import Any

_MODES = ("NONE", "STOCK_TORCH_COMPILE", "DYNAMO_TRACE_ONCE", "VLLM_COMPILE")
_GRAPHS = ("NONE", "PIECEWISE", "FULL", "FULL_DECODE_ONLY", "FULL_AND_PIECEWISE")
_COMPILATION = "compilation-config"


def odd_inside(name: str, value: Any) -> str | None:
    """Return what of an argument's own values vLLM ends at, as a sentence; None where nothing."""
    if name == "cudagraph-capture-sizes":
        return _odd_sizes(name, value)
    if name != _COMPILATION or not isinstance(value, Mapping):
        return None
    return next(_faults(value), None)


def _faults(given: Mapping[str, Any]) -> Iterator[str]:
    mode, graphs = given.get("mode"), given.get("cudagraph_mode")
    if (isinstance(mode, str) and mode.upper() not in _MODES) or _is_beyond(mode):
        yield f"`{_COMPILATION}.mode` takes 0 to 3 or one of {_listed(_MODES)}; `{mode}` is none."
    if isinstance(graphs, str) and graphs.upper() not in _GRAPHS:
        yield f"`{_COMPILATION}.cudagraph_mode` takes one of {_listed(_GRAPHS)}."
    if odd := _odd_sizes(f"{_COMPILATION}.cudagraph_capture_sizes", _sizes(given)):
        yield odd
    yield from _odd_operations(given.get("custom_ops"))


def _sizes(given: Mapping[str, Any]) -> Any:
    return given.get("cudagraph_capture_sizes")


def _is_beyond(mode: Any) -> bool:
    return isinstance(mode, int) and not isinstance(mode, bool) and not 0 <= mode < len(_MODES)


def _odd_sizes(name: str, sizes: Any) -> str | None:
    if sizes == [] or (isinstance(sizes, list) and any(not _is_size(each) for each in sizes)):
        return f"`{name}` takes at least one whole number, each above 0."
    return None


def _is_size(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _odd_operations(given: Any) -> Iterator[str]:
    names = [each for each in given if isinstance(each, str)] if isinstance(given, list) else []
    for each in names:
        if each not in ("all", "none") and (len(each) < 2 or each[0] not in "+-"):
            yield (
                f"`{_COMPILATION}.custom_ops` takes `all`, `none`, `+name` and `-name`; "
                f"`{each}` is none of them."
            )
    if {"all", "none"} <= {*names}:
        yield f"`{_COMPILATION}.custom_ops` has both `all` and `none`."
    both = {each[1:] for each in names if each[:1] == "+"} & {
        each[1:] for each in names if each[:1] == "-"
    }
    if both:
        yield f"`{_COMPILATION}.custom_ops` turns {_listed(sorted(both))} on and off."


def _listed(words: Any) -> str:
    return ", ".join(f"`{word}`" for word in words)
