"""The `gguf` package, made to read a file once instead of once for each question about it.

Transformers asks for the whole file three times and for the table of names at every module; that
was two thirds of a conversion.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import gguf
import numpy


class _Reader(gguf.GGUFReader):  # type: ignore[misc]
    """A reader whose many small slices are plain arrays: those of a memory map cost four times."""

    @property
    def data(self) -> Any:
        return self._data

    @data.setter
    def data(self, mapped: Any) -> None:
        self._data = numpy.asarray(mapped)


@contextmanager
def reading_once() -> Iterator[None]:
    """Let whoever asks `gguf` meanwhile share one reading of each file and one table of names."""
    kept = {name: getattr(gguf, name) for name in ("GGUFReader", "get_tensor_name_map")}
    vars(gguf).update(
        GGUFReader=cache(_Reader), get_tensor_name_map=cache(gguf.get_tensor_name_map)
    )
    try:
        yield
    finally:
        vars(gguf).update(kept)
