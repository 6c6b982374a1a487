"""What is pushed: the files of an artifact, counted as they go out, and the words beside them."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from controlplane.artifacts import ArtifactStore, FileEntry, Manifest
from controlplane.sources import SourceOptions
from workers.build_steps.events import Events
from workers.build_steps.options import PushOrder

MANIFEST_NAME = "enginehouse-manifest.json"
"""The last file of a push to a bucket: what has it is whole."""


@dataclass(kw_only=True)
class Parcel:
    order: PushOrder
    manifest: Manifest
    store: ArtifactStore = field(repr=False)
    secret: str = field(repr=False)
    options: SourceOptions
    events: Events
    done_bytes: int = 0
    sent_files: int = 0
    skipped_files: int = 0

    def read(self, entry: FileEntry) -> Iterator[bytes]:
        """Yield a file's bytes, verified; raises before the last ones of a damaged file."""
        return self.store.read(entry)

    def tell(self, of_file_bytes: int) -> None:
        self.events.progress(
            self.done_bytes + of_file_bytes, self.manifest.size_bytes, unit="bytes"
        )

    def skip(self, entry: FileEntry) -> None:
        self.skipped_files += 1
        self._pass(entry)

    def sent(self, entry: FileEntry) -> None:
        self.sent_files += 1
        self._pass(entry)

    def _pass(self, entry: FileEntry) -> None:
        self.done_bytes += entry.size_bytes
        self.tell(0)
