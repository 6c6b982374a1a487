"""Operations of the REST API as curl commands that can be pasted into a shell."""

import json
import re
from typing import Any
from urllib.parse import quote

from apps.dashboard.rest_reference.operations import Operation

_FILES = {
    "application/x-tar": "artifact.tar",
    "application/zip": "bundle.zip",
    "text/csv": "table.csv",
}


def curl_of(operation: Operation) -> str:
    """Return the command; what stands in capitals in its address is to be filled in."""
    method = "" if operation.method in ("GET", "POST") else f" -X {operation.method}"
    return " \\\n  ".join(
        [
            f'curl --fail-with-body -sS{method} "$ENGINEHOUSE_URL{_address(operation)}"',
            *([] if operation.is_open else ['-H "Authorization: Bearer $ENGINEHOUSE_API_KEY"']),
            *_body(operation),
            *_output(operation),
        ]
    )


def _address(operation: Operation) -> str:
    path = re.sub(r"\{(\w+)\}", lambda match: match[1].upper(), operation.path)
    needed = [each for each in operation.parameters if each.place == "query" and each.is_required]
    query = "&".join(f"{quote(each.name)}={each.name.upper()}" for each in needed)
    return f"{path}?{query}" if query else path


def _body(operation: Operation) -> list[str]:
    if operation.request is None:
        return ["-X POST"] if operation.method == "POST" else []
    example = operation.request.example
    if operation.request.media_type == "multipart/form-data":
        return [
            f"-F {name}=@FILE" if name == "file" else f"-F {name}={quoted(str(value))}"
            for name, value in example.items()
        ]
    return ['-H "Content-Type: application/json"', f"-d {quoted(_json(example))}"]


def _output(operation: Operation) -> list[str]:
    names = [_FILES[kind] for kind in operation.answers_in if kind in _FILES]
    return [f"-o {names[0]}"] if names else []


def quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _json(example: Any) -> str:
    return json.dumps(example, indent=2, ensure_ascii=False)
