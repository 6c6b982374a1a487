import hashlib
from dataclasses import dataclass
from pathlib import Path

from controlplane.artifacts.digests import read_chunks
from controlplane.sources.looking import Looks, no_look
from controlplane.sources.resolved import SourceFile


@dataclass(frozen=True, kw_only=True)
class Checked:
    """A file as it lies on the disk, against what its source says of it."""

    sha256: str
    """Empty where the size alone is wrong already."""
    mismatch: tuple[str, str] | None = None
    """(expected, found) where size or digest differ."""


def check(path: Path, file: SourceFile, look: Looks = no_look) -> Checked:
    """Return the file's sha256 and what differs, from one pass over its bytes."""
    size = path.stat().st_size
    if size != file.size_bytes:
        mismatch = (f"{file.size_bytes} bytes", f"{size} bytes")
        return Checked(sha256="", mismatch=mismatch)
    sha256 = hashlib.sha256()
    md5 = hashlib.md5(usedforsecurity=False)
    git_sha1 = hashlib.sha1(f"blob {size}\0".encode(), usedforsecurity=False)
    digests = [(file.sha256, sha256, "sha256")]
    if file.git_sha1 is not None:
        digests.append((file.git_sha1, git_sha1, "blob"))
    if file.md5 is not None:
        digests.append((file.md5, md5, "md5"))
    looking = look(file.path)
    with path.open("rb") as content:
        for chunk in read_chunks(content):
            for _, digest, _ in digests:
                digest.update(chunk)
            if looking is not None:
                looking.update(chunk)
    wrong = [
        (f"{name} {expected}", f"{name} {digest.hexdigest()}")
        for expected, digest, name in digests
        if expected is not None and digest.hexdigest() != expected
    ]
    return Checked(sha256=sha256.hexdigest(), mismatch=wrong[0] if wrong else None)
