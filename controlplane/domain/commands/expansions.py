"""`$NAME`, `${NAME:-default}`, `$(…)`, `{{…}}` and `<…>` in a text, one at a time."""

import re

from controlplane.domain.commands.words import Opaque, Part, RawWord, Variable

MAX_NESTING = 8
_NAME = re.compile(r"\$([A-Za-z_]\w*|[0-9@*#?!$-])", re.ASCII)
_BRACED = re.compile(r"([A-Za-z_]\w*|[0-9@*#?])(?:(:?[-=])(.*)|:?[?+].*)?", re.S | re.ASCII)
_PLACEHOLDERS = (
    re.compile(r"\{\{[^{}\n]*\}\}"),
    re.compile(r"<<[\w.]+>>"),
    re.compile(r"<[A-Za-z][\w ./:-]*>"),
)
_NESTED_NAME = re.compile(r"[A-Z_][A-Z0-9_]*")


class UnclosedError(ValueError):
    """A construct begins and never ends; the text says which."""


def expansion_at(text: str, position: int, depth: int = 0) -> tuple[Part, int] | None:
    """Return the expansion that begins here and where it ends, or None. Raises UnclosedError."""
    if text.startswith("${", position):
        end = _closing(text, position + 1, "{", "}")
        return _braced(text[position + 2 : end], depth), end + 1
    if text.startswith("$(", position):
        end = _closing(text, position + 1, "(", ")")
        inner = text[position + 2 : end].strip()
        # Kubernetes writes variables this way; a program is never called by capitals alone.
        if _NESTED_NAME.fullmatch(inner):
            return Variable(name=inner), end + 1
        return Opaque(text=text[position : end + 1]), end + 1
    if match := _NAME.match(text, position):
        return Variable(name=match[1]), match.end()
    return None


def placeholder_at(text: str, position: int) -> tuple[Opaque, int] | None:
    for pattern in _PLACEHOLDERS:
        if match := pattern.match(text, position):
            return Opaque(text=match[0]), match.end()
    return None


def parts_of(text: str, depth: int = 0) -> tuple[Part, ...]:
    """Return a text that is one word already, split at its expansions. Raises UnclosedError."""
    parts: list[Part] = []
    position = start = 0
    while position < len(text):
        expansion: tuple[Part, int] | None = None
        if text[position] == "$":
            expansion = expansion_at(text, position, depth)
        elif text[position] in "{<":
            expansion = placeholder_at(text, position)
        if expansion is None:
            position += 1
            continue
        parts += [text[start:position], expansion[0]]
        start = position = expansion[1]
    parts.append(text[start:])
    return tuple(part for part in parts if part != "")


def literal_word(text: str) -> RawWord:
    """Return an item of a YAML list as a word: split at expansions, never at spaces."""
    try:
        return RawWord(parts=parts_of(text), quoted=True)
    except UnclosedError:
        return RawWord(parts=(text,), quoted=True)


def _braced(inner: str, depth: int) -> Part:
    match = _BRACED.fullmatch(inner)
    if match is None or depth >= MAX_NESTING:
        return Opaque(text=f"${{{inner}}}")
    default = match[3]
    if default is None:
        return Variable(name=match[1])
    return Variable(name=match[1], default=parts_of(_unquoted(default), depth + 1))


def _unquoted(text: str) -> str:
    paired = len(text) > 1 and text[0] == text[-1] and text[0] in "\"'"
    return text[1:-1] if paired else text


def _closing(text: str, position: int, opening: str, closing: str) -> int:
    depth = 0
    for index in range(position, len(text)):
        if text[index] == opening:
            depth += 1
        elif text[index] == closing:
            depth -= 1
            if depth == 0:
                return index
    raise UnclosedError(f"`${opening}` is opened and never closed.")
