"""`enginehouse.vllm_args`: arguments of vLLM by its own names, as words of its command line."""

import json
import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any

from controlplane.domain.commands.command_writer import CommandWriter
from controlplane.domain.facts.vllm_arguments import KERNELS, KINDS, STEPS, VERSIONS, WORDS
from controlplane.domain.facts.vllm_arguments import Kind as ValueKind
from controlplane.domain.facts.vllm_word_versions import versions_of_word
from controlplane.domain.redaction import Redactor
from controlplane.domain.runtimes.vllm.capabilities import VERSION
from controlplane.domain.runtimes.vllm.inner_keys import unlisted
from controlplane.domain.runtimes.vllm.inner_values import odd_inside
from controlplane.domain.runtimes.vllm.parsers import SINCE, Kind
from controlplane.domain.spec import Spec

PARSERS: Mapping[str, Kind] = {
    "tool-call-parser": Kind.TOOLS, "reasoning-parser": Kind.REASONING,
}  # fmt: skip
"""Arguments whose values are the names of parsers."""
_ALIKE = 0.7
_OF_32_BITS = ("float", "float32")
_WIDE = (
    "`dtype` of 32 bits doubles what the memory plan counts for vLLM. Write it as "
    "`enginehouse.dtype: float32` with `enginehouse.runtime: native`, or leave it out."
)
_AUTO_TOOLS = "--enable-auto-tool-choice"
_PLACE = re.compile(r"^(/|~|\.\.?/|[A-Za-z]:\\)|://|^[\w.-]+:\d{2,5}$")
_PLACE_NAME = re.compile(r"(^|[_-])(path|dir|directory|file|url|uri|host|port|address|addr|ip)$")
_SECRET_NAME = re.compile(
    r"^(token|key)$|(^|[_-])(secret|password|credentials?|(api|access|private)[_-]?key"
    r"|(hf|hub|api|auth|access|bearer|refresh|session)[_-]?token)$"
)
"""`image_token` and its kind are words of a vocabulary."""
_TYPES: Mapping[ValueKind, type | tuple[type, ...]] = {
    ValueKind.SWITCH: bool, ValueKind.INTEGER: int, ValueKind.NUMBER: (int, float),
    ValueKind.TEXT: str, ValueKind.MAPPING: dict,
}  # fmt: skip
_ITEMS: Mapping[ValueKind, type] = {ValueKind.TEXTS: str, ValueKind.INTEGERS: int}


def own_arguments(spec: Spec) -> Mapping[str, Any]:
    """Return the arguments by vLLM's spelling; `max_loras` and `max-loras` are one."""
    return {flag_name(name): value for name, value in spec.settings.vllm_args.items()}


def flag_name(written: str) -> str:
    return written.strip().lstrip("-").replace("_", "-")


def say_own_arguments(line: CommandWriter, version: str = VERSION) -> None:
    for written, value in line.spec.settings.vllm_args.items():
        path = f"{line.spec.settings_path}.vllm_args.{written}"
        if reason := fault(flag_name(written), value, version):
            line.miss(path, reason)
        else:
            line.say(path, *words(flag_name(written), value))
    for path in ("enginehouse.vllm_args", "model_metadata.enginehouse.vllm_args"):
        line.say(path)


def words(name: str, value: Any) -> tuple[object, ...]:
    """Return an argument as the words of the command line; `null` leaves it out."""
    if value is None:
        return ()
    if isinstance(value, bool):
        return (f"--{'' if value else 'no-'}{name}",)
    if isinstance(value, list):
        return (f"--{name}", *value)
    text = json.dumps(value) if isinstance(value, Mapping) else value
    return (*((_AUTO_TOOLS,) if PARSERS.get(name) is Kind.TOOLS else ()), f"--{name}", text)


def fault(name: str, value: Any, version: str = VERSION) -> str | None:
    if name not in KINDS:
        return "It is not among the arguments that a config passes on."
    return (
        missing_in(name, version)
        or wrong_value(name, value, version)
        or misplaced(name, value)
        or unlisted(name, value, version)
    )


def missing_in(name: str, version: str) -> str | None:
    first, last = VERSIONS.get(name, (version, version))
    if first <= version <= last:
        return None
    return f"vLLM {version} has no `{name}`; versions {first} to {last} have it."


def wrong_value(name: str, value: Any, version: str = VERSION) -> str | None:
    """Return what a value has to be, where it is something else."""
    if value is None:
        return None
    if not _fits(KINDS[name], value) or not _is_json(value):
        return f"`{name}` takes {KINDS[name]}."
    if value == []:
        return f"`{name}` takes a list with at least one entry; leave it out, or write `null`."
    if name in PARSERS and SINCE[PARSERS[name]].get(value, "none") > version:
        return f"vLLM {version} has no parser of {PARSERS[name]} named `{value}`."
    if odd := _odd_kernel(name, value) or _odd_number(name, value) or odd_inside(name, value):
        return odd
    if other := _of_other_versions(name, value, version):
        return other
    allowed = WORDS.get(name)
    if allowed is None or value in allowed:
        return None
    if name == "dtype" and value in _OF_32_BITS:
        return _WIDE
    return f"`{name}` takes one of {', '.join(f'`{word}`' for word in allowed)}."


def _odd_kernel(name: str, value: Any) -> str | None:
    known = KERNELS.get(name)
    spelled = str(value).lower().replace("-", "_")
    if known is None or spelled in known:
        return None
    meant = next(iter(get_close_matches(spelled, known, n=1, cutoff=_ALIKE)), None)
    hint = f" Did you mean `{meant}`?" if meant else ""
    return f"`{name}`: vLLM has no kernels named `{value}` for NVIDIA GPUs.{hint}"


def _of_other_versions(name: str, value: Any, version: str) -> str | None:
    versions = versions_of_word(name, value) if isinstance(value, str) else None
    if versions is None or versions[0] <= version <= versions[1]:
        return None
    first, last = versions
    having = f"version {first} has" if first == last else f"versions {first} to {last} have"
    return f"`{name}`: vLLM {version} has no `{value}`; {having} it."


def _odd_number(name: str, value: Any) -> str | None:
    if name not in STEPS:
        return None
    least, most, step = STEPS[name]
    if value >= least and (most is None or value <= most) and (value - least) % step == 0:
        return None
    whole = f"a multiple of {step}" if step > 1 else f"a whole number from {least} to {most}"
    return f"`{name}` takes {whole}, and {value} is none."


def _fits(kind: ValueKind, value: Any) -> bool:
    if kind in _ITEMS:
        return isinstance(value, list) and all(_is(_ITEMS[kind], each) for each in value)
    return _is(_TYPES[kind], value)


def _is(expected: type | tuple[type, ...], value: Any) -> bool:
    return isinstance(value, expected) and (expected is bool or not isinstance(value, bool))


def _is_json(value: Any) -> bool:
    """Return whether JSON can say it, which has no infinite numbers and no dates."""
    try:
        json.dumps(value, allow_nan=False)
    except (ValueError, TypeError):
        return False
    return True


def misplaced(name: str, value: Any) -> str | None:
    """Return what in a value names a file, a host, a port or a secret, none of which is passed."""
    sentences = (_misplaced(*leaf) for leaf in _leaves(name, value))
    return next(filter(None, sentences), None) or _read_as_flag(name, value)


def _read_as_flag(name: str, value: Any) -> str | None:
    """Return that a word of the command line would be another argument; JSON is one word."""
    values = value if isinstance(value, list) else [value]
    if any(isinstance(each, str) and each.startswith("-") for each in values):
        return f"`{name}` begins with a dash, and would be read as another argument."
    return None


def _misplaced(name: str, value: Any) -> str | None:
    text = value if isinstance(value, str) else ""
    if _SECRET_NAME.search(name) or Redactor().text(text) != text:
        return f"`{name}` holds a secret, and everybody on a host can read command lines."
    if _PLACE_NAME.search(name) or _PLACE.search(text):
        return f"`{name}` names a file, a host or a port, which the program itself decides."
    return None


def _leaves(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _leaves(str(key), inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _leaves(name, inner)
    else:
        yield name, value
