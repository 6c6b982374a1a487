"""Rows of an uploaded file in order, each with its place, and what of it is kept."""

import codecs
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow
from pyarrow import parquet

from controlplane.calibration_files import problems
from controlplane.domain.calibration_rows import KNOWN_BY, read_columns

LONGEST_LINE_BYTES = 8_000_000
_ROWS_AT_ONCE = 256
_UNPACKED_TIMES = 8
"""How many times the limit of a file a Parquet file may unpack to."""


@dataclass(frozen=True, kw_only=True)
class PlacedRow:
    """One row; `line` counts from 1 and is absent where a file has no lines."""

    number: int
    content: Mapping[str, Any]
    line: int | None = None

    @property
    def place(self) -> str:
        """How a message begins."""
        return f"Line {self.line}" if self.line else f"Row {self.number}"


def read_rows(path: Path, ending: str, *, limit_bytes: int) -> Iterator[PlacedRow]:
    """Yield the rows of a file by its ending; raises BadFile."""
    if ending == ".parquet":
        yield from _parquet_rows(path, limit_bytes * _UNPACKED_TIMES)
    elif ending == ".txt":
        yield from _paragraphs(path)
    elif ending == ".json" and _begins_with_bracket(path):
        yield from _array_rows(path)
    else:
        yield from _line_rows(path)


def is_kept_as_it_is(path: Path, ending: str) -> bool:
    """Return whether builds read this very file; others are kept as one object per line."""
    if ending == ".parquet":
        return True
    with path.open("rb") as file:
        has_mark = file.read(3) == codecs.BOM_UTF8
    return not has_mark and ending == ".jsonl"


def _line_rows(path: Path) -> Iterator[PlacedRow]:
    number = 0
    with path.open("rb") as file:
        for line, text in _lines(file):
            if not text.strip():
                continue
            number += 1
            yield PlacedRow(number=number, content=_object(line, text), line=line)


def _lines(file: BinaryIO) -> Iterator[tuple[int, str]]:
    number = 0
    while raw := file.readline(LONGEST_LINE_BYTES + 1):
        number += 1
        if len(raw) > LONGEST_LINE_BYTES:
            raise problems.long_line(number, LONGEST_LINE_BYTES)
        yield number, _decoded(number, raw)


def _decoded(number: int, raw: bytes) -> str:
    if number == 1 and raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise problems.not_utf8(number, "it begins like UTF-16")
    try:
        return raw.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError as error:
        reason = f"byte {raw[error.start]:#04x} at place {error.start + 1}"
        raise problems.not_utf8(number, reason) from None


def _object(line: int, text: str) -> Mapping[str, Any]:
    try:
        row = json.loads(text)
    except ValueError as error:
        raise problems.not_json(line, str(error)) from None
    except RecursionError:
        raise problems.not_json(line, "it is nested too deeply") from None
    if not isinstance(row, dict):
        raise problems.not_json(line, f"it is a {type(row).__name__}")
    return row


def _begins_with_bracket(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(4096).removeprefix(codecs.BOM_UTF8).lstrip()[:1] == b"["


def _array_rows(path: Path) -> Iterator[PlacedRow]:
    raw = path.read_bytes()
    try:
        content = json.loads(raw.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise problems.not_utf8(line, f"byte {raw[error.start]:#04x}") from None
    except (ValueError, RecursionError) as error:
        raise problems.not_array(str(error) or "it is nested too deeply") from None
    for number, row in enumerate(content, start=1):
        if not isinstance(row, dict):
            raise problems.not_array(f"entry {number} is a {type(row).__name__}")
        yield PlacedRow(number=number, content=row)


def _paragraphs(path: Path) -> Iterator[PlacedRow]:
    """Yield the texts between blank lines."""
    number, first, lines_so_far = 0, 0, list[str]()
    with path.open("rb") as file:
        for line, text in [*_lines(file), (0, "")]:
            if text.strip():
                first = first or line
                lines_so_far.append(text.rstrip("\r\n"))
            elif lines_so_far:
                number += 1
                yield PlacedRow(
                    number=number, content={"text": "\n".join(lines_so_far)}, line=first
                )
                first, lines_so_far = 0, []


def _parquet_rows(path: Path, most_bytes: int) -> Iterator[PlacedRow]:
    number = 0
    try:
        with parquet.ParquetFile(path) as file:
            names = file.schema_arrow.names
            columns = [each for each in names if each in read_columns()]
            if not any(each in KNOWN_BY for each in columns):
                raise problems.no_column("The file", names, None)
            _check_size(file, columns, most_bytes)
            for batch in file.iter_batches(batch_size=_ROWS_AT_ONCE, columns=columns):
                for row in batch.to_pylist():
                    number += 1
                    yield PlacedRow(number=number, content=row)
    except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as error:
        raise problems.broken_parquet(str(error).partition("\n")[0] or "it is damaged") from None


def _check_size(file: parquet.ParquetFile, read_columns: list[str], most_bytes: int) -> None:
    groups = [file.metadata.row_group(number) for number in range(file.metadata.num_row_groups)]
    columns = [group.column(number) for group in groups for number in range(group.num_columns)]
    size = sum(
        each.total_uncompressed_size
        for each in columns
        if each.path_in_schema.partition(".")[0] in read_columns
    )
    if size > most_bytes:
        raise problems.unpacks_too_large(size, most_bytes)
