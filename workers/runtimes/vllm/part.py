"""The part of this program that vLLM's own Python imports: the drafter, and nothing else."""

import hashlib
import shutil
import tempfile
from pathlib import Path

import workers

_DIGITS = 16
_SOURCE = Path(workers.__file__).parent


def write_part(folder: Path) -> Path:
    """Return the folder below this one that vLLM's Python is to import from; written once.

    It is named by what it holds, so that replicas share it and what numba compiled for it, and one
    that is still used by an older replica stays.
    """
    part = folder / f"lookahead-{_digest()}"
    if part.is_dir():
        return part
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as beside:
        new = Path(beside) / "part"
        _copy(new / "workers")
        new.chmod(0o755)
        try:
            new.rename(part)
        except OSError:
            if not part.is_dir():  # else another process was first
                raise
    return part


def _files() -> list[Path]:
    return [_SOURCE / "__init__.py", *sorted((_SOURCE / "lookahead").glob("*.py"))]


def _digest() -> str:
    digest = hashlib.sha256()
    for path in _files():
        digest.update(f"{path.relative_to(_SOURCE)}\n".encode() + path.read_bytes())
    return digest.hexdigest()[:_DIGITS]


def _copy(target: Path) -> None:
    for path in _files():
        place = target / path.relative_to(_SOURCE)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, place)
