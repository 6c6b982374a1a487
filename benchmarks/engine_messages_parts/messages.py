"""A folder of Python sources -> every exception with a message of its own."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_TOKEN = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]])*\]|\{[\d,]+\}|[?*+]|.", re.DOTALL)
_HOLE = re.compile(r"\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\}")


@dataclass(frozen=True, kw_only=True)
class Message:
    """One place that raises."""

    path: str
    """Below the library's folder, with the library's name in front: `vllm/config/model.py`."""
    line: int
    kind: str
    text: str
    """With the expressions of its values in braces."""


def filled_in(text: str, value: str) -> str:
    """Return a message with each of its values replaced."""
    return _HOLE.sub(value, text)


def words_needed(expression: str) -> str:
    """Return the longest plain words that every match holds, nothing where it has a choice.

    Searching some hundred expressions in ten thousand messages takes minutes without.
    """
    depth, outside = 0, []
    for token in _TOKEN.findall(expression):
        depth += {"(": 1, ")": -1}.get(token, 0)
        if token == "|" and depth == 0:
            return ""
        outside.append(_kind_of(token, depth))
    plain = re.sub(".\1|\1", "\0", "".join(outside), flags=re.DOTALL)
    return max(plain.split("\0"), key=len)


def _kind_of(token: str, depth: int) -> str:
    """Return a letter that every match holds as it is, and a mark for anything else."""
    if token[0] in "?*+{":
        return "\1"
    return token if depth == 0 and len(token) == 1 and token not in "()|.^$" else "\0"


def messages_in(library: Path) -> Iterator[Message]:
    """Yield what the library's sources raise with a message, and what they assert with one."""
    for path in sorted(library.rglob("*.py")):
        name = f"{library.name}/{path.relative_to(library).as_posix()}"
        try:
            tree = ast.parse(path.read_text(errors="replace"))
        except SyntaxError:
            continue
        yield from _messages_of(tree, name)


def _messages_of(tree: ast.AST, name: str) -> Iterator[Message]:
    for node in ast.walk(tree):
        raised = node.exc if isinstance(node, ast.Raise) else None
        if isinstance(raised, ast.Call) and raised.args:
            kind, statement = ast.unparse(raised.func).rpartition(".")[2], _said(raised.args[0])
        elif isinstance(node, ast.Assert) and node.msg is not None:
            kind, statement = "AssertionError", _said(node.msg)
        else:
            continue
        if statement:
            yield Message(path=name, line=node.lineno, kind=kind, text=" ".join(statement.split()))


def _said(node: ast.expr) -> str:
    """Return the text of an expression, nothing where none of it is written there."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=values):
            return "".join(_piece(each) for each in values)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return f"{_said(left)}{_said(right)}"
        case ast.BinOp(left=left, op=ast.Mod()):
            return _said(left)
        case ast.Call(func=ast.Attribute(value=value, attr="format" | "join")):
            return _said(value)
    return ""


def _piece(node: ast.expr) -> str:
    return node.value if isinstance(node, ast.Constant) else "{value}"
