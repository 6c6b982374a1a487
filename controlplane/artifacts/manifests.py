import json
import re
from dataclasses import asdict, dataclass
from functools import cached_property

from controlplane.artifacts.digests import FileEntry, content_digest
from controlplane.artifacts.failures import ArtifactFailure
from controlplane.domain.failures.registry import artifacts

FORMAT = 1
MANIFESTS, PASSPORTS, CHECKS = "manifests", "passports", "checks"
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


@dataclass(frozen=True)
class Manifest:
    files: tuple[FileEntry, ...]

    @cached_property
    def content_digest(self) -> str:
        return content_digest(self.files)

    @property
    def size_bytes(self) -> int:
        return sum(each.size_bytes for each in self.files)

    def to_bytes(self) -> bytes:
        stored = {
            "format": FORMAT,
            "content_digest": self.content_digest,
            "size_bytes": self.size_bytes,
            "files": [asdict(each) for each in self.files],
        }
        return json.dumps(stored, indent=1).encode()


def read_manifest(content: bytes, digest: str) -> Manifest:
    """Return the manifest stored under `digest`, refused when it names other files."""
    try:
        files = json.loads(content)["files"]
        manifest = Manifest(tuple(FileEntry(**each) for each in files))
    except (ValueError, KeyError, TypeError):
        raise ArtifactFailure.of(artifacts.CORRUPT_MANIFEST, digest=digest) from None
    if manifest.content_digest != digest:
        raise ArtifactFailure.of(artifacts.CORRUPT_MANIFEST, digest=digest)
    return manifest


def manifest_path(digest: str) -> str:
    return f"{MANIFESTS}/{hex_of(digest)}.json"


def passport_path(digest: str) -> str:
    return f"{PASSPORTS}/{hex_of(digest)}.json"


def digest_of(name: str) -> str | None:
    """Return whose document the name of a file in these folders is, None for what is not ours."""
    digest = f"sha256:{name.removesuffix('.json')}"
    return digest if name.endswith(".json") and _DIGEST.fullmatch(digest) else None


def hex_of(digest: str) -> str:
    """Return the hex digits of a full digest; what is no digest names nothing."""
    if not _DIGEST.fullmatch(digest):
        raise ArtifactFailure.of(artifacts.MISSING, digest=digest)
    return digest.removeprefix("sha256:")
