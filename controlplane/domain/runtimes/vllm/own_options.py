"""Flags of a command that become `enginehouse.vllm_args`."""

from collections.abc import Iterable, Mapping
from typing import Any

from controlplane.domain.commands.draft import Draft
from controlplane.domain.commands.numbers import clean, fraction, json_value, whole_number
from controlplane.domain.commands.options import Option
from controlplane.domain.facts.vllm_arguments import KINDS, Kind
from controlplane.domain.runtimes.vllm.own_arguments import fault

FIELD = "enginehouse.vllm_args"
_UNSET = "The value is set outside of what was pasted."


def carry_own(draft: Draft, option: Option) -> str | None:
    """Carry a flag under its own name; return why it is not carried, where it is not."""
    if option.name not in KINDS:
        return "No setting of a config means this."
    if any(word.unknown for word in option.values):
        return _UNSET
    field = f"{FIELD}.{option.name}"
    value = _value(option, draft.fields.get(field))
    reason = fault(option.name, value)
    if reason is None:
        draft.carry(option.text, field, value)
    return reason


def carry_held_by_v2(
    draft: Draft, flag: str, path: str, value: Any, options: Iterable[Option]
) -> bool:
    """Carry what `patch_kwargs.{path}` would hold in a v2 config; return whether it was."""
    if path == "model_kwargs":
        if fault("hf-overrides", value):
            return False
        draft.carry(flag, f"{FIELD}.hf-overrides", value)
        return True
    own = [each for each in options if each.text in flag and each.name in KINDS]
    if not own or any(fault(each.name, _value(each, None)) for each in own):
        return False
    for each in own:
        carry_own(draft, each)
    return True


def _value(option: Option, before: Any) -> Any:
    """Return the value by the argument's kind; what does not fit stays the text that it is."""
    if option.path:
        return _with_part(before, option.path, _plain(clean(option.value)))
    match KINDS[option.name]:
        case Kind.SWITCH:
            return option.is_on
        case Kind.TEXTS:
            return [clean(word) for word in option.values]
        case Kind.INTEGERS:
            return [_integer(clean(word)) for word in option.values]
        case kind:
            return _one(kind, clean(option.value))


def _one(kind: Kind, text: str) -> Any:
    match kind:
        case Kind.INTEGER:
            return _integer(text)
        case Kind.NUMBER:
            number = fraction(text)
            return text if number is None else number
        case Kind.MAPPING:
            return _plain(text)
    return text


def _integer(text: str) -> int | str:
    number = whole_number(text)
    if number is not None:
        return number
    return int(text) if text.removeprefix("-").isdecimal() and text.isascii() else text


def _plain(text: str) -> Any:
    value = json_value(text)
    return text if value is None else value


def _with_part(before: Any, path: tuple[str, ...], value: Any) -> dict[str, Any]:
    """Return a mapping with one more value in it, as `--pooler-config.pooling_type CLS` adds."""
    step, *rest = path
    whole = dict(before) if isinstance(before, Mapping) else {}
    whole[step] = _with_part(whole.get(step), tuple(rest), value) if rest else value
    return whole
