"""What is wrong with settings: the variable, its value unless that is secret, and what to write."""

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import ValidationError


class WrongSetting(Exception):
    """Settings that cannot be worked with; each line names a variable."""


class UnreadableFile(WrongSetting):
    """The file in which a secret should lie."""

    def __init__(self, variable: str, path: str, error: OSError | UnicodeDecodeError) -> None:
        reason = error.strerror if isinstance(error, OSError) else "it is no text in UTF-8"
        super().__init__(f"{variable}: `{path}` cannot be read: {reason}.")
        self.variable, self.path, self.error = variable, path, error


_WORDS: Mapping[str, str] = {
    "bool_parsing": "is neither true nor false; write 1 or 0.",
    "float_parsing": "is not a number, such as 24 or 0.5.",
    "int_parsing": "is not a whole number.",
    "int_from_float": "is not a whole number.",
    "literal_error": "is not one of {expected}.",
    "greater_than": "is not above {gt}.",
    "greater_than_equal": "is below {ge}.",
    "less_than": "is not below {lt}.",
    "less_than_equal": "is above {le}.",
    "finite_number": "is not a finite number.",
}


def words_of(error: ValidationError, shown: Mapping[str, str]) -> Iterator[str]:
    for each in error.errors(include_url=False):
        name = str(each["loc"][0])
        # Of a default that follows from another variable, only the other is wrong.
        if each["type"] != "default_factory_not_called":
            yield f"{name}: {_words(each, shown.get(name))}"


def _words(error: Any, shown: str | None) -> str:
    context = error.get("ctx", {})
    if error["type"] == "missing":
        return "is not set."
    if error["type"] == "value_error":
        return str(context["error"])
    known = _WORDS.get(error["type"], f"is wrong: {error['msg']}.")
    words = known.format(**context).replace("'", "`")
    return words if shown is None else f"`{shown}` {words}"
