"""What can be wrong with an uploaded file, said with the place and what to do."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from controlplane.domain.calibration_rows import FORMS_IN_WORDS

FORMATS = ".jsonl, .json, .parquet and .txt"
_COLUMNS = (
    f"Each row needs {FORMS_IN_WORDS}; `messages` is a list of turns with `role` and `content`."
)


class BadFile(Exception):
    """The file cannot be kept; `line` is where, counted from 1."""

    def __init__(self, problem: "Problem") -> None:
        super().__init__(problem.message)
        self.problem = problem


@dataclass(frozen=True, kw_only=True)
class Problem:
    code: str
    message: str
    hint: str
    line: int | None = None

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def unknown_format(name: str) -> BadFile:
    return _bad("format", f"`{name}` is none of {FORMATS}.", "Convert it to one of these.")


def empty() -> BadFile:
    return _bad("empty", "The file has no rows.", _COLUMNS)


def not_utf8(line: int, reason: str) -> BadFile:
    return _bad("encoding", f"Line {line} is not UTF-8: {reason}.", "Save it as UTF-8.", line)


def not_json(line: int, reason: str) -> BadFile:
    hint = "Every line of a .jsonl file is one JSON object; an array belongs into a .json file."
    return _bad("row", f"Line {line} is no JSON object: {reason}.", hint, line)


def long_line(line: int, limit: int) -> BadFile:
    return _bad(
        "row",
        f"Line {line} has more than {limit // 1_000_000} MB.",
        "Split long texts: a sample is cut at `calib_max_seq_length` tokens anyway.",
        line,
    )


def not_array(reason: str) -> BadFile:
    return _bad(
        "row",
        f"The file is no JSON array of objects: {reason}.",
        "A .json file holds `[{...}, {...}]`; one object per line belongs into a .jsonl file.",
    )


def no_column(place: str, columns: Sequence[str], line: int | None) -> BadFile:
    shown = ", ".join(f"`{each}`" for each in columns[:8]) or "nothing"
    message = f"{place} has no column that builds read; it has {shown}."
    return _bad("column", message, f"Rename the column. {_COLUMNS}", line)


def other_column(place: str, column: str, line: int | None) -> BadFile:
    message = f"{place} has no `{column}`, which the rows before it have."
    return _bad("column", message, "Give every row the same column.", line)


def odd_pair(place: str, reason: str, line: int | None) -> BadFile:
    return _bad("value", f"{place} {reason}.", _COLUMNS, line)


def bad_value(place: str, column: str, reason: str, line: int | None) -> BadFile:
    return _bad("value", f"{place}: `{column}` {reason}.", _COLUMNS, line)


def broken_parquet(reason: str) -> BadFile:
    return _bad(
        "parquet", f"The file is no Parquet file that can be read: {reason}.", "Write it again."
    )


def unpacks_too_large(size: int, limit: int) -> BadFile:
    return _bad(
        "too_large",
        f"The file unpacks to {size // 1_000_000:,} MB; {limit // 1_000_000:,} MB are the most.",
        "Leave out what is not text, and rows beyond some thousand.",
    )


def too_few(usable: int, needed: int, empty_rows: int) -> BadFile:
    emptied = f" and {empty_rows:,} empty ones" if empty_rows else ""
    return _bad(
        "too_few",
        f"The file has {usable:,} rows with text{emptied}; a build needs at least {needed}.",
        "Add rows. In a .txt file, a blank line ends a text.",
    )


def too_slow(seconds: float) -> BadFile:
    return _bad(
        "too_slow", f"The file could not be read within {seconds:.0f} seconds.", "Make it smaller."
    )


def crashed(status: int) -> BadFile:
    return _bad(
        "unreadable",
        f"The process that read the file ended with status {status}: it is damaged, or too large "
        "for the memory that a file may take.",
        "Write it again, or make it smaller.",
    )


def _bad(code: str, message: str, hint: str, line: int | None = None) -> BadFile:
    return BadFile(Problem(code=f"calibration_{code}", message=message, hint=hint, line=line))
