"""Text that is not YAML -> what is wrong with it, where it began, and the text with that mended.

The parser stops where it can go on no further, which is often a line or a page after the slip; the
sentences here name the slip. What is mended serves only to find the next slip of the same text.
"""

import re
from typing import Any

import yaml

from controlplane.domain.spec.yaml_slips import TELLERS, Slip, Stop, slip_at

_BREAK = re.compile("\r\n|[\n\r\x85\u2028\u2029]")
"""What the parser counts as the end of a line."""
_FORBIDDEN = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_CONFLICT = re.compile(r"(<{7}|={7}|>{7})(\s|$)")
_LOOK = "Look at the quotes, colons, brackets and the indentation of this line and the one above."


def explain(failure: yaml.YAMLError, text: str, last_event: Any) -> Slip:
    """Return what keeps `text` from being YAML, in words about the text itself."""
    lines = _BREAK.split(text)
    if (rest := _left_over(lines)) is not None:
        return rest
    mark = getattr(failure, "problem_mark", None)
    if mark is None:
        return _forbidden_character(lines)
    context = getattr(failure, "context_mark", None)
    stop = Stop(
        lines=lines,
        line=mark.line,
        column=mark.column,
        began=(context.line, context.column) if context else None,
        last=last_event,
    )
    problem = str(getattr(failure, "problem", ""))
    for words, tell in TELLERS.items():
        if words in problem and (slip := tell(stop)) is not None:
            return slip
    return slip_at(stop.line, stop.column, "This cannot be read as YAML", _LOOK)


def _left_over(lines: list[str]) -> Slip | None:
    """What other programs leave in a text, which no parser's sentence names."""
    for number, line in enumerate(lines):
        if _CONFLICT.match(line):
            return slip_at(
                number, 0, f"`{line[:7]}` is a mark that a merge left",
                "Keep one of the two versions and remove the marks.",
            )  # fmt: skip
        if line.startswith("```"):
            mended = "\n".join("" if each.startswith("```") else each for each in lines)
            return slip_at(number, 0, "The line is a fence of Markdown (three backticks), not part "
                         "of the file", "Remove it.", mended)  # fmt: skip
    return None


def _forbidden_character(lines: list[str]) -> Slip:
    for number, line in enumerate(lines):
        if match := _FORBIDDEN.search(line):
            mended = "\n".join(_FORBIDDEN.sub(" ", each) for each in lines)
            name = f"U+{ord(match[0]):04X}"
            return slip_at(number, match.start(), f"The character {name} cannot stand in YAML",
                         "Remove it.", mended)  # fmt: skip
    return slip_at(0, 0, "The text holds a character that YAML forbids", "Save it as UTF-8.")
