"""Shell text -> the words of its commands. Nothing is ever run.

It reads what people paste: quotes, continued lines, comments, redirections, pipes, here-documents,
prompts and code fences. What a shell would compute stays open.
"""

import re
from dataclasses import dataclass, field

from controlplane.domain.commands.expansions import (
    UnclosedError,
    expansion_at,
    parts_of,
    placeholder_at,
)
from controlplane.domain.commands.words import Opaque, Part, RawWord, SimpleCommand

_FENCE = re.compile(r"^[ \t]*```[^\n]*$", re.M)
_PROMPT = re.compile(r"^[ \t]*(?:\$|❯|[\w.-]+@[\w.-]+:[^\n$#]*[$#])[ \t]+(?=\S)", re.M)
_DASHES = re.compile(r"[–—]{1,2}(?=[A-Za-z])")
_CLOSING = {"'": "'", '"': '"', "“": "”“", "”": "”“", "‘": "’‘", "’": "’‘"}
"""Quotes, those that word processors make of them included, and what closes each."""
_BLANKS = " \t\r\xa0\u200b"
_CONTINUED = re.compile(r"\\(?:[ \t]+#[^\n]*|[ \t]*)(?:\r?\n|\Z)")
"""A comment behind the backslash would end the command in a shell; its writer meant to go on."""
_FOREIGN_CONTINUED = re.compile(r"(?<=\s)[`^][ \t]*(?=\r?\n)")
"""How PowerShell and cmd.exe continue a line."""
_UNIT = re.compile(r"^[ \t]*Exec(?:Start|StartPre)=[-@:+!]*", re.M)
"""A line of a systemd unit."""
_HERE = re.compile(r"<<(-?)[ \t]*(['\"]?)([A-Za-z_]\w*)\2")
_REDIRECTION = re.compile(r"&>>?|>>|>\||>&|<&|<<<|>|<")
_SEPARATORS = "\n;|&()"


class ShellTextError(ValueError):
    """The text is not a command that a shell could read; the text says why."""


def read_commands(text: str) -> tuple[SimpleCommand, ...]:
    """Return the commands in the text, in order. Raises ShellTextError."""
    reader = _Reader(text=_plain(text))
    try:
        reader.read()
    except UnclosedError as error:
        raise ShellTextError(str(error)) from None
    return tuple(
        SimpleCommand(words=tuple(command.words), writes=command.writes, document=command.document)
        for command in reader.commands
        if command.words
    )


def _plain(text: str) -> str:
    """Return the text without what only the page it was copied from put there."""
    unfenced = _UNIT.sub("", _FENCE.sub("", text.removeprefix("\ufeff")))
    return _FOREIGN_CONTINUED.sub(r"\\", _PROMPT.sub("", unfenced))


@dataclass(kw_only=True)
class _Command:
    after_newline: bool
    words: list[RawWord] = field(default_factory=list)
    writes: str | None = None
    document: str | None = None


@dataclass(kw_only=True)
class _Reader:
    text: str
    position: int = 0
    commands: list[_Command] = field(default_factory=lambda: [_Command(after_newline=False)])
    parts: list[Part] = field(default_factory=list)
    quoted: bool = False
    redirecting: str | None = None
    waiting: list[tuple[_Command, str, bool]] = field(default_factory=list)

    def read(self) -> None:
        while self.position < len(self.text):
            self._step(self.text[self.position])
        self._end_word()
        if self.commands[-1].words:
            self._join_loose_flags()

    def _step(self, letter: str) -> None:
        if letter in _BLANKS:
            self._end_word()
            self.position += 1
        elif not self._in_word() and (dashes := _DASHES.match(self.text, self.position)):
            self._add("--", len(dashes[0]))
        elif letter == "\\":
            self._escape()
        elif letter in _CLOSING:
            self._quote(letter)
        elif letter == "#" and not self._in_word():
            self._skip_comment()
        elif letter == "`":
            self._backticks()
        elif not self._expansion(letter) and not self._operator(letter):
            self._add(letter, 1)

    def _expansion(self, letter: str) -> bool:
        expansion: tuple[Part, int] | None = None
        if letter == "$":
            if self.text.startswith("$'", self.position):
                self.position += 1
                return True
            expansion = expansion_at(self.text, self.position)
        elif letter in "{<":
            expansion = placeholder_at(self.text, self.position)
        if expansion is None:
            return False
        self.parts.append(expansion[0])
        self.position = expansion[1]
        return True

    def _operator(self, letter: str) -> bool:
        if letter == "<" and (here := _HERE.match(self.text, self.position)):
            self._end_word()
            self.waiting.append((self.commands[-1], here[3], bool(here[1])))
            self.position = here.end()
            return True
        if redirection := _REDIRECTION.match(self.text, self.position):
            self._redirect(redirection[0])
            return True
        if letter not in _SEPARATORS:
            return False
        self._end_word()
        self.position += 1
        if letter == "\n":
            self._read_documents()
        self._end_command(newline=letter == "\n")
        return True

    def _redirect(self, sign: str) -> None:
        # `2>`: the number belongs to the redirection.
        if not self.quoted and len(self.parts) > 0 and all(_is_digits(part) for part in self.parts):
            self.parts.clear()
        self._end_word()
        self.redirecting = sign
        self.position += len(sign)

    def _escape(self) -> None:
        if continued := _CONTINUED.match(self.text, self.position):
            self._end_word()
            self.position = continued.end()
            return
        self._add(self.text[self.position + 1 : self.position + 2], 2)
        self.quoted = True

    def _quote(self, mark: str) -> None:
        end = self._closing_quote(mark)
        inner = self.text[self.position + 1 : end]
        if mark == '"':
            inner = re.sub(r"\\\n", "", inner)
            inner = re.sub(r'\\([$`"\\])', r"\1", inner)
        # Also between single quotes: what is pasted here often left YAML or a template that way.
        self.parts += parts_of(inner)
        self.quoted = True
        self.position = end + 1

    def _closing_quote(self, mark: str) -> int:
        position = self.position + 1
        while position < len(self.text):
            if self.text[position] in _CLOSING[mark]:
                return position
            position += 2 if mark == '"' and self.text[position] == "\\" else 1
        line = self.text.count("\n", 0, self.position) + 1
        raise ShellTextError(f"A quote ({mark}) on line {line} is opened and never closed.")

    def _backticks(self) -> None:
        end = self.text.find("`", self.position + 1)
        if end < 0:
            raise ShellTextError("A backtick (`) is opened and never closed.")
        self.parts.append(Opaque(text=self.text[self.position : end + 1]))
        self.position = end + 1

    def _skip_comment(self) -> None:
        end = self.text.find("\n", self.position)
        self.position = len(self.text) if end < 0 else end

    def _add(self, letters: str, length: int) -> None:
        self.parts.append(letters)
        self.position += length

    def _in_word(self) -> bool:
        return bool(self.parts) or self.quoted

    def _end_word(self) -> None:
        if not self._in_word():
            return
        word = RawWord(parts=_joined(self.parts), quoted=self.quoted)
        self.parts, self.quoted = [], False
        if self.redirecting is None:
            self.commands[-1].words.append(word)
        elif self.redirecting in (">", ">>", ">|"):
            self.commands[-1].writes = _plain_text(word)
        self.redirecting = None

    def _end_command(self, *, newline: bool) -> None:
        self.redirecting = None
        last = self.commands[-1]
        if not last.words:
            last.after_newline = newline
            return
        self._join_loose_flags()
        self.commands.append(_Command(after_newline=newline))

    def _join_loose_flags(self) -> None:
        """A line that begins with a flag continues the one above: its backslash got lost."""
        if len(self.commands) < 2:
            return
        last, above = self.commands[-1], self.commands[-2]
        first = last.words[0].parts
        if last.after_newline and first and isinstance(first[0], str) and first[0][:1] == "-":
            above.words += last.words
            self.commands.pop()

    def _read_documents(self) -> None:
        for command, mark, strips_tabs in self.waiting:
            lines: list[str] = []
            while self.position < len(self.text):
                line = self._next_line()
                line = line.lstrip("\t") if strips_tabs else line
                if line.rstrip() == mark:
                    break
                lines.append(line)
            command.document = "\n".join(lines)
        self.waiting.clear()

    def _next_line(self) -> str:
        end = self.text.find("\n", self.position)
        end = len(self.text) if end < 0 else end
        line, self.position = self.text[self.position : end], min(end + 1, len(self.text))
        return line


def _joined(parts: list[Part]) -> tuple[Part, ...]:
    joined: list[Part] = []
    for part in parts:
        if isinstance(part, str) and joined and isinstance(joined[-1], str):
            joined[-1] += part
        else:
            joined.append(part)
    return tuple(joined)


def _plain_text(word: RawWord) -> str | None:
    texts = [part for part in word.parts if isinstance(part, str)]
    return "".join(texts) if len(texts) == len(word.parts) else None


def _is_digits(part: Part) -> bool:
    return isinstance(part, str) and part.isdigit()
