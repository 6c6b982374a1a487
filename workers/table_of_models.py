"""Transformers' table of its models, kept beside their bytecode.

At its import Transformers reads all of the 2,600 files of its models, twice, for the names that
they hold: a quarter of what the import takes. What it found is kept as Python keeps what it has
compiled: for these very files, and where it may write.
"""

import hashlib
import importlib.util
import marshal
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any

_READER = "transformers.utils.import_utils"
_FUNCTION = "create_import_structure_from_path"
Read = Callable[[str], Any]


def keep_table_of_models() -> None:
    """Let Transformers find its table kept, once it is imported."""
    if _READER not in sys.modules and not any(isinstance(each, _Finder) for each in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


def kept_table(read: Read, folder: Path) -> Any:
    """Return what `read` says of the folder, from what is kept of the same files where it is."""
    bytecode = importlib.util.cache_from_source(str(folder / "table_of_models.py"))
    place, digest = Path(bytecode).with_suffix(".marshal"), _digest(folder)
    with suppress(OSError, ValueError, EOFError, TypeError):
        kept = place.read_bytes()
        if kept.startswith(digest):
            # Who may write there may write the bytecode that Python runs.
            return marshal.loads(kept[len(digest) :])  # nosec B302 (as trusted as bytecode)
    table = read(str(folder))
    if not sys.dont_write_bytecode:
        with suppress(OSError):
            _write(place, digest + marshal.dumps(table))
    return table


def _write(place: Path, data: bytes) -> None:
    """Write all or nothing: another process may be at its import too."""
    place.parent.mkdir(exist_ok=True)
    own = place.with_name(f"{place.name}.{os.getpid()}")
    own.write_bytes(data)
    own.replace(place)


def _digest(folder: Path) -> bytes:
    """Return a digest of the files' names, sizes and times, by which Python knows its bytecode."""
    return hashlib.sha256(repr(sorted(_files(str(folder)))).encode()).digest()


def _files(folder: str) -> Iterator[tuple[str, int, int]]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name == "__pycache__":
                continue
            if entry.is_dir():
                yield from _files(entry.path)
            else:
                status = entry.stat()
                yield entry.path, int(status.st_mtime), status.st_size


class _Finder(MetaPathFinder):
    """Finds the module that reads the table, once, to have it look for a kept one first."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name != _READER:
            return None
        sys.meta_path.remove(self)
        spec = PathFinder.find_spec(name, path, target)
        if spec and isinstance(spec.loader, SourceFileLoader):
            spec.loader = _Loader(spec.loader.name, spec.loader.path)
        return spec


class _Loader(SourceFileLoader):
    def exec_module(self, module: ModuleType) -> None:
        super().exec_module(module)
        if read := getattr(module, _FUNCTION, None):  # a version without it reads as it likes
            setattr(module, _FUNCTION, _Table(read))


class _Table:
    """In place of Transformers' function: the table of all models is kept, others are read."""

    def __init__(self, read: Read) -> None:
        self._read = read
        self._kept: dict[Path, Any] = {}

    def __call__(self, module_path: str | Path) -> Any:
        folder = Path(module_path)
        if folder.name == "__init__.py":
            folder = folder.parent
        if folder.name != "models":
            return self._read(str(module_path))
        if folder not in self._kept:
            self._kept[folder] = kept_table(self._read, folder)
        return self._kept[folder]
