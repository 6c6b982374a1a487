"""Tool calls written as a list of Python calls: `[get_weather(city="Boston")]`."""

import ast
import json
from collections.abc import Sequence

from workers.engine.server.delta import CallPiece


def read_python_calls(text: str, *, first_index: int) -> Sequence[CallPiece]:
    """Give back the calls, or none where the text is anything else."""
    try:
        body = ast.parse(text.strip(), mode="eval").body
        calls = [_read_call(call) for call in body.elts] if isinstance(body, ast.List) else []
    except (SyntaxError, ValueError, TypeError):
        return []
    return [
        CallPiece(index=first_index + at, name=name, arguments=arguments)
        for at, (name, arguments) in enumerate(calls)
    ]


def _read_call(call: ast.expr) -> tuple[str, str]:
    if not isinstance(call, ast.Call) or call.args:
        raise ValueError("not a call by keywords")
    values = {str(word.arg): ast.literal_eval(word.value) for word in call.keywords}
    return ast.unparse(call.func), json.dumps(values, ensure_ascii=False)
