"""Requests of one's own: JSON lines with prompts, or with lengths."""

from typing import Any

from controlplane.domain.benchmarks.order import Sample
from controlplane.domain.json_text import read_json

MOST_BYTES = 4 * 1024 * 1024
MOST_LINES = 10_000
LONGEST_TOKENS = 1_000_000
FORMS = (
    '`{"prompt": "…", "completion_tokens": 128}`, `{"messages": […]}` or '
    '`{"prompt_tokens": 900, "completion_tokens": 120}`'
)
_KNOWN = frozenset(Sample.model_fields)


class SampleProblem(ValueError):
    """Why the lines cannot be used, with the line's number where there is one."""


def read_samples(text: str) -> list[Sample]:
    """Return a request for each line that is not blank. Raises SampleProblem."""
    if len(text.encode(errors="replace")) > MOST_BYTES:
        raise SampleProblem(f"The lines hold more than {MOST_BYTES // 2**20} MiB.")
    lines = [(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    if not lines:
        raise SampleProblem("There is no line with a request.")
    if len(lines) > MOST_LINES:
        raise SampleProblem(f"There are {len(lines):,} lines; {MOST_LINES:,} are taken.")
    return [_read_line(number, line) for number, line in lines]


def _read_line(number: int, line: str) -> Sample:
    try:
        row = read_json(line)
    except ValueError:
        raise SampleProblem(f"Line {number} is no JSON: `{line[:60]}`.") from None
    if not isinstance(row, dict):
        raise SampleProblem(f"Line {number} is no object: `{line[:60]}`.")
    if unknown := sorted(set(row) - _KNOWN):
        raise SampleProblem(f"Line {number} has a field `{unknown[0][:60]}` that is not known.")
    if sum(name in row for name in ("prompt", "messages", "prompt_tokens")) != 1:
        raise SampleProblem(f"Line {number} needs one of `prompt`, `messages`, `prompt_tokens`.")
    return Sample(**_checked(number, row))


def _checked(number: int, row: dict[str, Any]) -> dict[str, Any]:
    if "prompt" in row and not (isinstance(row["prompt"], str) and row["prompt"].strip()):
        raise SampleProblem(f"Line {number}: `prompt` is no text.")
    if "messages" in row and not _are_messages(row["messages"]):
        raise SampleProblem(f"Line {number}: `messages` is no list of objects with a `role`.")
    for name in ("prompt_tokens", "completion_tokens"):
        value = row.get(name)
        if name in row and not (type(value) is int and 0 < value <= LONGEST_TOKENS):
            raise SampleProblem(f"Line {number}: `{name}` is {value!r}; give a whole number.")
    return row


def _are_messages(value: object) -> bool:
    if not isinstance(value, list) or not value:
        return False
    return all(isinstance(each, dict) and isinstance(each.get("role"), str) for each in value)
