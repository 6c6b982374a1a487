"""The words of a command line, before and after its variables are filled in."""

from collections.abc import Mapping
from dataclasses import dataclass, field

MAX_WORD_CHARACTERS = 16 * 1024


@dataclass(frozen=True, kw_only=True)
class Variable:
    """`$NAME` or `${NAME:-default}`."""

    name: str
    default: "tuple[Part, ...] | None" = None


@dataclass(frozen=True, kw_only=True)
class Opaque:
    """A part that only the machine that runs the line knows: `$(…)`, `{{…}}`, `<…>`."""

    text: str


Part = str | Variable | Opaque


@dataclass(frozen=True, kw_only=True)
class RawWord:
    parts: tuple[Part, ...]
    quoted: bool = False


@dataclass(frozen=True, kw_only=True)
class SimpleCommand:
    """The words of one command, and the file that a here-document in it writes."""

    words: tuple[RawWord, ...]
    writes: str | None = None
    document: str | None = None


@dataclass(frozen=True, kw_only=True)
class Word:
    """One word with its variables filled in as far as the pasted text tells them."""

    text: str
    unknown: tuple[str, ...] = ()
    """Variables without a value, as written."""
    defaulted: tuple[str, ...] = ()
    """Variables whose default was taken."""

    def after(self, count: int) -> "Word":
        """Return the word without its first `count` characters."""
        return Word(text=self.text[count:], unknown=self.unknown, defaulted=self.defaulted)


@dataclass(kw_only=True)
class _Filled:
    text: str = ""
    unknown: list[str] = field(default_factory=list)
    defaulted: list[str] = field(default_factory=list)

    def add(self, part: Part, known: Mapping[str, str]) -> None:
        if len(self.text) > MAX_WORD_CHARACTERS:
            return
        if isinstance(part, str):
            self.text += part
        elif isinstance(part, Opaque):
            self.text += part.text
            self.unknown.append(part.text)
        elif part.name in known:
            self.text += known[part.name]
        elif part.default is not None:
            self.defaulted.append(part.name)
            for inner in part.default:
                self.add(inner, known)
        else:
            self.text += f"${part.name}"
            self.unknown.append(f"${part.name}")


def fill_in(raw: RawWord, known: Mapping[str, str]) -> tuple[Word, ...]:
    """Return the word with known variables in it; an unquoted one may fall into several words."""
    filled = _Filled()
    for part in raw.parts:
        filled.add(part, known)
    alone = len(raw.parts) == 1 and isinstance(raw.parts[0], Variable) and not raw.quoted
    texts = filled.text.split() if alone else [filled.text]
    unknown, defaulted = tuple(filled.unknown), tuple(filled.defaulted)
    return tuple(Word(text=text, unknown=unknown, defaulted=defaulted) for text in texts)
