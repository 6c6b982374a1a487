"""Words -> options, by a server's own grammar."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from controlplane.domain.commands.expansions import literal_word
from controlplane.domain.commands.words import Word, fill_in

_FLAG = re.compile(r"--[A-Za-z][\w.-]*|-[A-Za-z][\w.-]*", re.ASCII)
_SHORT_WITH_NUMBER = re.compile(r"(-[a-z]{2}|-O)(\d+)", re.ASCII)
_SWITCH_WORDS = frozenset({"true", "false"})


@dataclass(frozen=True, kw_only=True)
class Grammar:
    """How one server reads its flags. Names are without dashes, in the server's own spelling."""

    switches: frozenset[str]
    many: frozenset[str] = frozenset()
    """Flags that take every word up to the next flag."""
    short: Mapping[str, str] = field(default_factory=dict)
    """Other spellings -> name."""
    names: frozenset[str] = frozenset()
    """Every known name; a prefix of exactly one of them is that one, as argparse has it."""
    separator: str = "-"


@dataclass(frozen=True, kw_only=True)
class Option:
    flag: str
    """As written."""
    name: str
    values: tuple[Word, ...] = ()
    path: tuple[str, ...] = ()
    """`method` in `--speculative-config.method`."""
    negated: bool = False

    @property
    def value(self) -> Word:
        """The last value; of a switch, `true` or `false`."""
        if not self.values:
            return Word(text="false" if self.negated else "true")
        return self.values[-1]

    @property
    def is_on(self) -> bool:
        """Whether a switch is on; `--no-…` and `false` turn it off."""
        return (self.value.text.lower() not in ("false", "0", "no")) != (
            self.negated and bool(self.values)
        )

    @property
    def text(self) -> str:
        return " ".join([self.flag, *(word.text for word in self.values)])


@dataclass(frozen=True, kw_only=True)
class Arguments:
    """Options, what stands between them, and what stands after `--`."""

    options: tuple[Option, ...]
    positionals: tuple[Word, ...]
    rest: tuple[Word, ...]


def no_number(option: Option) -> str:
    if not option.values:
        return "It has no value; it takes a number."
    return f"`{option.value.text}` is not a number."


def read_options(words: Sequence[Word], grammar: Grammar) -> Arguments:
    """Return the words as options; of an unknown flag the next word is the value if it can be."""
    options: list[Option] = []
    positionals: list[Word] = []
    position = 0
    while position < len(words):
        word = words[position]
        if word.text == "--":
            rest = tuple(words[position + 1 :])
            return Arguments(options=tuple(options), positionals=tuple(positionals), rest=rest)
        if not is_flag(word):
            positionals.append(word)
            position += 1
            continue
        option, length = _option(word, words, position, grammar)
        options.append(option)
        position += length
    return Arguments(options=tuple(options), positionals=tuple(positionals), rest=())


def options_of(settings: Mapping[Any, Any], grammar: Grammar) -> tuple[Option, ...]:
    return tuple(_setting(str(key), value, grammar) for key, value in settings.items())


def is_flag(word: Word) -> bool:
    """Return whether a word is a flag and not a value such as `-1`."""
    return _FLAG.match(word.text) is not None


def _option(
    word: Word, words: Sequence[Word], position: int, grammar: Grammar
) -> tuple[Option, int]:
    flag, joined, _ = word.text.partition("=")
    if short := _SHORT_WITH_NUMBER.fullmatch(word.text):
        flag, joined, value = short[1], "=", Word(text=short[2])
    else:
        value = word.after(len(flag) + 1)
    name, path, negated = _name(flag, grammar)
    if joined:
        return Option(flag=flag, name=name, path=path, negated=negated, values=(value,)), 1
    count = _value_count(name, negated, words[position + 1 :], grammar)
    values = tuple(words[position + 1 : position + 1 + count])
    option = Option(flag=flag, name=name, path=path, negated=negated, values=values)
    return option, 1 + count


def _value_count(name: str, negated: bool, following: Sequence[Word], grammar: Grammar) -> int:
    if not following:
        return 0
    if negated or name in grammar.switches:
        return int(following[0].text.lower() in _SWITCH_WORDS)
    if name not in grammar.many:
        return int(not is_flag(following[0]) and following[0].text != "--")
    count = 0
    while count < len(following) and not is_flag(following[count]):
        if following[count].text == "--":
            break
        count += 1
    return count


def _name(flag: str, grammar: Grammar) -> tuple[str, tuple[str, ...], bool]:
    """Return a flag's name, its dotted path, and whether `no-` turns it round."""
    if flag in grammar.short:
        return grammar.short[flag], (), False
    root, *path = flag.lstrip("-").split(".")
    if f"-{root}" in grammar.short and not flag.startswith("--"):
        return grammar.short[f"-{root}"], tuple(path), False
    name = re.sub(r"[-_]", grammar.separator, root)
    name = grammar.short.get(f"--{name}", name)
    prefix = f"no{grammar.separator}"
    if name.startswith(prefix) and name not in grammar.names:
        return name.removeprefix(prefix), tuple(path), True
    return _completed(name, grammar), tuple(path), False


def _completed(name: str, grammar: Grammar) -> str:
    if name in grammar.names or len(name) < 3:
        return name
    matches = [known for known in grammar.names if known.startswith(name)]
    return matches[0] if len(matches) == 1 else name


def _setting(key: str, value: Any, grammar: Grammar) -> Option:
    name, path, negated = _name(f"--{key}", grammar)
    if isinstance(value, bool):
        words: tuple[Word, ...] = (Word(text=str(value).lower()),)
    elif isinstance(value, list):
        words = tuple(_word(item) for item in value)
    else:
        words = (_word(value),)
    return Option(flag=key, name=name, path=path, negated=negated, values=words)


def _word(value: Any) -> Word:
    if isinstance(value, Mapping | list):
        return Word(text=json.dumps(value, ensure_ascii=False, default=str))
    return next(iter(fill_in(literal_word("" if value is None else str(value)), {})), Word(text=""))
