"""Reads tool calls out of text that arrives in pieces."""

import json
import re
from collections.abc import Collection, Iterator
from dataclasses import replace

from workers.engine.server.delta import CallPiece

BARE_NAME = re.compile(r"^[\s\[,;]*(?:function<｜tool▁sep｜>)?([A-Za-z_][\w.-]*)")
ARGUMENT_KEYS = ("arguments", "parameters")


class JsonCalls:
    """Calls as `{"name": …, "arguments": {…}}` or as a bare name before its arguments.

    Arguments leave as the model writes them, as soon as the name is known.
    """

    def __init__(self, *, first_index: int, names: Collection[str] | None = None) -> None:
        self.count = 0
        self._index = first_index - 1
        self._names = names
        self._head = self._key = self._value = ""
        self._depth = 0
        self._is_quoted = self._is_escaped = self._is_value = self._is_bare = False
        self._name: str | None = None
        self._early = ""  # arguments that came before the name
        self._has_arguments = False

    def push(self, text: str) -> Iterator[CallPiece]:
        """Take a piece of text; give what it adds to the calls."""
        pending: CallPiece | None = None
        for character in text:
            for piece in self._take(character):
                if pending is not None and pending.index == piece.index:
                    joined = pending.arguments + piece.arguments
                    pending = replace(pending, arguments=joined)
                    continue
                if pending is not None:
                    yield pending
                pending = piece
        if pending is not None:
            yield pending

    def _take(self, character: str) -> Iterator[CallPiece]:
        if self._depth == 0:
            yield from self._between_objects(character)
        elif self._is_quoted:
            self._is_quoted = self._is_escaped or character != '"'
            self._is_escaped = character == "\\" and not self._is_escaped
            yield from self._keep(character)
        elif character in "}]" and self._depth == 1:
            yield from self._end_object(character)
        elif character in ":," and self._depth == 1 and not self._is_bare:
            yield from self._turn(character)
        else:
            self._is_quoted = character == '"'
            self._depth += (character in "{[") - (character in "}]")
            yield from self._keep(character)

    def _between_objects(self, character: str) -> Iterator[CallPiece]:
        if character != "{":
            self._head += character
            return
        self._depth = 1
        self._name, self._early, self._key, self._value = None, "", "", ""
        self._is_value = self._has_arguments = False
        bare = BARE_NAME.match(self._head)
        self._head, self._is_bare = "", bare is not None
        if bare is not None:
            yield self._begin(bare.group(1))
            yield CallPiece(index=self._index, arguments=character)

    def _turn(self, character: str) -> Iterator[CallPiece]:
        """A colon after a key, or a comma after a value."""
        if character == ":" and not self._is_value:
            self._is_value = True
        elif character == ",":
            yield from self._end_field()
        else:
            yield from self._keep(character)

    def _keep(self, character: str) -> Iterator[CallPiece]:
        if self._is_bare:
            yield CallPiece(index=self._index, arguments=character)
        elif not self._is_value:
            self._key += character
        elif self._depth > 1 or self._is_quoted or not character.isspace():
            self._value += character
            if self._key.strip(' \r\n\t"') in ARGUMENT_KEYS:
                yield from self._argument(character)

    def _argument(self, character: str) -> Iterator[CallPiece]:
        self._has_arguments = True
        if self._name is None:
            self._early += character
        else:
            yield CallPiece(index=self._index, arguments=character)

    def _end_field(self) -> Iterator[CallPiece]:
        key, value = self._key.strip(' \r\n\t"'), self._value
        self._key, self._value, self._is_value = "", "", False
        if key == "name" and self._name is None and value.startswith('"'):
            name = _unquoted(value)
            if self._names is not None and name not in self._names:
                return
            yield self._begin(name)
            if self._early:
                yield CallPiece(index=self._index, arguments=self._early)

    def _end_object(self, character: str) -> Iterator[CallPiece]:
        self._depth = 0
        if self._is_bare:
            yield CallPiece(index=self._index, arguments=character)
            return
        yield from self._end_field()
        if self._name is not None and not self._has_arguments:
            yield CallPiece(index=self._index, arguments="{}")

    def _begin(self, name: str) -> CallPiece:
        self._name = name
        self._index += 1
        self.count += 1
        return CallPiece(index=self._index, name=name)


def _unquoted(text: str) -> str:
    try:
        return str(json.loads(text))
    except ValueError:
        return text.strip('"')
