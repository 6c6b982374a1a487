"""Text that is not JSON -> what is wrong with it, in words about the text itself."""

import json
from collections.abc import Mapping

from controlplane.domain.facts.sources import json_language
from controlplane.domain.spec.errors import SpecError

_WORDS: Mapping[str, tuple[str, str]] = {
    "Expecting ','": ("A comma or a closing bracket is missing here", "Put `,` before it."),
    "Expecting ':'": ("The colon after a key is missing here", 'Write `"key": value`.'),
    "Expecting property name": (
        "A key in double quotes is missing here",
        "Write keys in double quotes, and close the bracket after the last value.",
    ),
    "Expecting value": ("A value is missing here", "Texts stand in double quotes."),
    "Extra data": ("More stands here, after the end of the file's one object", "Remove it."),
    "Unterminated string": ("The quote that opens here is not closed", 'Close it with `"`.'),
    "Invalid control character": (
        "A text runs over the end of its line",
        "Close its quotes, or write `\\n` for the line break.",
    ),
    "Invalid \\": ("The backslash here begins no escape of JSON", "Write it twice."),
}


def explain_json(failure: json.JSONDecodeError, text: str) -> SpecError:
    """Return what keeps `text` from being JSON, and where it is."""
    message, hint = next(
        (words for start, words in _WORDS.items() if failure.msg.startswith(start)),
        ("This cannot be read as JSON", "Look at the quotes, commas and brackets."),
    )
    line, column = failure.lineno, failure.colno
    if failure.pos >= len(text.rstrip()):
        message, hint = "The file ends before its brackets are closed", "Close them with `}`."
    return SpecError(
        path="", message=f"{message}.", line=line, column=column, hint=hint, source=json_language()
    )
