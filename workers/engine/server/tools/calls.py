"""Reads tool calls out of text that arrives in pieces."""

import ast
import json
import re
from collections.abc import Collection, Generator

from workers.engine.server.delta import CallPiece, Delta

BARE_NAME = re.compile(r"^[\s\[,;]*(?:function<｜tool▁sep｜>)?([\w-][\w.-]*)")
ARGUMENT_KEYS = ("arguments", "parameters")


class JsonCalls:
    """Calls as `{"name": …, "arguments": {…}}` or as a bare name before its arguments.

    Arguments leave as the model writes them, as soon as the name is known. The text is read by
    generators that are sent one character after the other.
    """

    def __init__(self, *, first_index: int, names: Collection[str] | None = None) -> None:
        self.count = 0
        self._first_index = first_index
        self._names = names
        self._delta, self._sent_arguments = Delta(), ""
        self._reading = self._read()
        next(self._reading)

    def push(self, text: str) -> Delta:
        """Take a piece of text; give back what it adds to the calls."""
        for character in text:
            self._reading.send(character)
        self._tell()
        delta, self._delta = self._delta, Delta()
        return delta

    def _read(self) -> Generator[None, str, None]:
        while True:
            head = ""
            while (character := (yield)) != "{":
                head += character
            if bare := BARE_NAME.match(head):
                is_known = self._names is None or bare[1] in self._names
                if is_known:
                    self._begin(bare[1], character)
                yield from self._text("", says=is_known, opened=character)
            else:
                yield from self._object()

    def _object(self) -> Generator[None, str, None]:
        """Read the fields of a call, in whatever order they come."""
        has_name, arguments, end = False, "", ""
        while end not in ("}", "]"):
            key, end = yield from self._text(":,}]")
            if end != ":":
                continue
            is_arguments = key.strip('"') in ARGUMENT_KEYS
            value, end = yield from self._text(",}]", says=is_arguments and has_name)
            if is_arguments:
                arguments += value
            elif key == '"name"' and not has_name and value.startswith('"'):
                name = _unquoted(value)
                has_name = self._names is None or name in self._names
                if has_name:
                    self._begin(name, arguments)
        if has_name and not arguments:
            self._sent_arguments += "{}"

    def _text(
        self, ends: str, *, says: bool = False, opened: str = ""
    ) -> Generator[None, str, tuple[str, str]]:
        """Read to an end outside of quotes and brackets, or to where what is open closes."""
        text, depth, is_quoted, is_escaped = opened, len(opened), False, False
        while True:
            character = yield
            if is_quoted:
                is_quoted = is_escaped or character != '"'
                is_escaped = character == "\\" and not is_escaped
            elif not depth and (character in ends or character.isspace()):
                if character in ends:
                    return text, character
                continue
            else:
                is_quoted = character == '"'
                depth += (character in "{[") - (character in "}]")
            text += character
            if says:
                self._sent_arguments += character
            if opened and not depth:
                return text, character

    def _begin(self, name: str, arguments: str) -> None:
        self._tell()
        self.count += 1
        self._sent_arguments = arguments
        self._tell(name)

    def _tell(self, name: str | None = None) -> None:
        if self._sent_arguments or name is not None:
            index = self._first_index + self.count - 1
            piece = CallPiece(index=index, name=name, arguments=self._sent_arguments)
            self._delta, self._sent_arguments = self._delta + Delta(calls=(piece,)), ""


def read_python_calls(text: str, *, first_index: int, names: Collection[str]) -> Delta:
    """Give back calls as in `[get_weather(city="Boston")]`, or none where it is anything else."""
    try:
        body = ast.parse(text.strip(), mode="eval").body
        calls = [_read_call(call) for call in body.elts] if isinstance(body, ast.List) else []
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        return Delta()
    known = [call for call in calls if call[0] in names]
    pieces = [
        CallPiece(index=index, name=name, arguments=arguments)
        for index, (name, arguments) in enumerate(known, first_index)
    ]
    return Delta(calls=tuple(pieces))


def _read_call(call: ast.expr) -> tuple[str, str]:
    if not isinstance(call, ast.Call) or call.args:
        raise ValueError("not a call by keywords")
    values = {str(word.arg): ast.literal_eval(word.value) for word in call.keywords}
    return ast.unparse(call.func), json.dumps(values, ensure_ascii=False)


def _unquoted(text: str) -> str:
    try:
        return str(json.loads(text))
    except ValueError:
        return text.strip('"')
