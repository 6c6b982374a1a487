"""Rows of .jsonl and .parquet files, local ones and those of a hub, in order."""

import io
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

import pyarrow
from pyarrow import parquet

from controlplane.domain.calibration_rows import read_columns
from controlplane.domain.failures.registry import calibration
from controlplane.domain.json_text import read_json
from workers.build_steps.calibration import failures
from workers.build_steps.calibration.hub import RemoteFile
from workers.build_steps.failures import StepFailure

Row = Mapping[str, Any]
_ROWS_AT_ONCE = 64
_READ = read_columns() | {"article"}


def read_rows(name: str, path: str, file: BinaryIO | RemoteFile) -> Iterator[Row]:
    """Yield the rows of one file, of which no more is read than they need; raises StepFailure."""
    if path.endswith(".parquet"):
        yield from _parquet_rows(name, path, file)
    else:
        yield from _json_rows(name, path, file)


def _parquet_rows(name: str, path: str, file: BinaryIO | RemoteFile) -> Iterator[Row]:
    try:
        opened = parquet.ParquetFile(file)
        columns = [each for each in opened.schema_arrow.names if _is_read(each)]
        if not columns:
            raise failures.no_column(name, opened.schema_arrow.names)
        for batch in opened.iter_batches(batch_size=_ROWS_AT_ONCE, columns=columns):
            yield from batch.to_pylist()
    except pyarrow.ArrowInvalid as error:
        raise StepFailure.of(
            calibration.FILE, name=name, file=path, reason=f"it is no Parquet file ({error})"
        ) from error


def _is_read(column: str) -> bool:
    """Leave images and other ballast where they are."""
    return column in _READ


def _json_rows(name: str, path: str, file: BinaryIO | RemoteFile) -> Iterator[Row]:
    buffered = io.BufferedReader(file) if isinstance(file, RemoteFile) else file
    for number, line in enumerate(buffered, start=1):
        if not line.strip():
            continue
        try:
            row = read_json(line)
        except UnicodeDecodeError as error:
            raise StepFailure.of(
                calibration.FILE, name=name, file=path, reason=f"line {number} is not UTF-8"
            ) from error
        except ValueError as error:
            raise StepFailure.of(
                calibration.ROW, name=name, file=path, line=number, reason=str(error)
            ) from error
        if not isinstance(row, dict):
            raise StepFailure.of(
                calibration.ROW,
                name=name,
                file=path,
                line=number,
                reason=f"it is a {type(row).__name__}",
            )
        yield row
