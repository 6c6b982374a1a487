"""A push to a folder of a bucket: the files one by one, and the manifest last.

Each object carries the sha256 of its bytes, by which a retry knows it.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, TypeVar

import obstore

from controlplane.artifacts import FileEntry
from controlplane.bucket_answers import STORE_ERRORS, is_passing
from controlplane.domain.spec import CheckpointRepository
from controlplane.domain.spec.choices import CheckpointSource
from controlplane.domain.spec.repository_forms import BucketFolder
from controlplane.sources.bucket_stores import OpenedStore, open_store
from workers.build_steps.pushing.failures import explain_bucket
from workers.build_steps.pushing.parcel import MANIFEST_NAME, Parcel

_SHA256 = "sha256"
_PART_BYTES = 16 * 1024 * 1024
_MOST_PARTS = 9000
_PARTS_AT_ONCE = 4
_PART_SECONDS = 300.0
"""To the client a silence is the time that a whole part takes."""
T = TypeVar("T")


def push_to_bucket(parcel: Parcel, target: BucketFolder) -> dict[str, Any]:
    """Return where the artifact is now; its manifest lies beside the files.

    Raises StepFailure or SourceFailure.
    """
    push = _Push(parcel, target)
    push.withdraw_other_manifest()
    for entry in parcel.manifest.files:
        push.put(entry)
    push.put_manifest()
    return {"url": str(target)}


class _Push:
    def __init__(self, parcel: Parcel, target: BucketFolder) -> None:
        self._parcel = parcel
        self._folder = target.folder
        self._opened = _opened(parcel, target)

    def withdraw_other_manifest(self) -> None:
        """Take away the manifest of what is about to be written over."""
        found = self._tried(lambda: self._content(MANIFEST_NAME))
        if found is not None and found != self._parcel.manifest.to_bytes():
            self._tried(lambda: obstore.delete(self._opened.store, self._key(MANIFEST_NAME)))

    def put(self, entry: FileEntry) -> None:
        """Store a file, unless it is there."""
        if self._tried(lambda: self._is_there(entry)):
            self._parcel.skip(entry)
            return
        self._tried(lambda: self._put(entry))
        self._parcel.sent(entry)

    def put_manifest(self) -> None:
        """Store the list of files, which says that all of them are there."""
        content = self._parcel.manifest.to_bytes()
        self._tried(
            lambda: obstore.put(
                self._opened.store, self._key(MANIFEST_NAME), content, use_multipart=False
            )
        )

    def _is_there(self, entry: FileEntry) -> bool:
        try:
            found = obstore.get(self._opened.store, self._key(entry.path), options={"head": True})
        except FileNotFoundError:
            return False
        known = found.attributes.get(_SHA256)
        return (known, found.meta["size"]) == (entry.sha256, entry.size_bytes)

    def _put(self, entry: FileEntry) -> None:
        if not entry.size_bytes:
            self._put_content(entry, b"", multipart=False)
            return
        self._put_content(entry, self._counted(entry), multipart=entry.size_bytes > _PART_BYTES)

    def _put_content(
        self, entry: FileEntry, content: bytes | Iterator[bytes], *, multipart: bool
    ) -> None:
        obstore.put(
            self._opened.store,
            self._key(entry.path),
            content,
            attributes={_SHA256: entry.sha256},
            use_multipart=multipart,
            chunk_size=max(_PART_BYTES, entry.size_bytes // _MOST_PARTS + 1),
            max_concurrency=_PARTS_AT_ONCE,
        )

    def _counted(self, entry: FileEntry) -> Iterator[bytes]:
        done = 0
        for piece in self._parcel.read(entry):
            yield piece
            done += len(piece)
            self._parcel.tell(done)

    def _content(self, name: str) -> bytes | None:
        try:
            return bytes(obstore.get(self._opened.store, self._key(name)).bytes())
        except FileNotFoundError:
            return None

    def _key(self, name: str) -> str:
        return f"{self._folder}/{name}"

    def _tried(self, ask: Callable[[], T]) -> T:
        options = self._parcel.options
        for attempt in range(1, options.attempts + 1):
            try:
                return ask()
            except STORE_ERRORS as error:
                if attempt == options.attempts or not is_passing(error):
                    order, place = self._parcel.order, self._opened.place
                    raise explain_bucket(error, order, place) from error
                options.clock.sleep(options.backoff_seconds * 2.0 ** (attempt - 1))
        raise AssertionError("a try either returns or raises")


def _opened(parcel: Parcel, target: BucketFolder) -> OpenedStore:
    named = CheckpointRepository(
        source=CheckpointSource.S3,
        repo=str(target),
        runtime_secret_name=parcel.order.secret_name,
    )
    options = replace(parcel.options, timeout_seconds=_PART_SECONDS)
    return open_store(named, secret=parcel.secret, options=options)
