"""Whether a fetched file is the one that its source lists."""

import hashlib
from pathlib import Path

from controlplane.artifacts.digests import hash_file, read_chunks
from controlplane.sources.resolved import SourceFile


def mismatch(path: Path, file: SourceFile) -> tuple[str, str] | None:
    """Return (expected, found) where size or digest differ, or None for the right file."""
    size = path.stat().st_size
    if size != file.size_bytes:
        return f"{file.size_bytes} bytes", f"{size} bytes"
    if file.sha256 is not None:
        found = hash_file(path)
        return None if found == file.sha256 else (f"sha256 {file.sha256}", f"sha256 {found}")
    if file.git_sha1 is not None:
        found = git_blob_sha1(path)
        return None if found == file.git_sha1 else (f"blob {file.git_sha1}", f"blob {found}")
    return None


def git_blob_sha1(path: Path) -> str:
    """Return the id that git gives the file's content."""
    digest = hashlib.sha1(f"blob {path.stat().st_size}\0".encode(), usedforsecurity=False)
    with path.open("rb") as file:
        for chunk in read_chunks(file):
            digest.update(chunk)
    return digest.hexdigest()
