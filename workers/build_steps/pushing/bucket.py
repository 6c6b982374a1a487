"""A push to a folder of a bucket: the files one by one, and the manifest last.

Each object carries the sha256 of its bytes, by which a retry knows it. While a push is under way,
a list of each file that any push may have written lies there, so that the one that ends leaves its
own files only.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any, TypeVar

import obstore

from controlplane.artifacts import FileEntry
from controlplane.bucket_answers import STORE_ERRORS, is_passing
from controlplane.domain.spec import CheckpointRepository
from controlplane.domain.spec.choices import CheckpointSource
from controlplane.domain.spec.repository_forms import BucketFolder
from controlplane.sources.bucket_stores import OpenedStore, open_store
from workers.build_steps.pushing.earlier import UNFINISHED_NAME, listed_paths, unfinished_list
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
    left_over = push.begin()
    for entry in parcel.manifest.files:
        push.put(entry)
    push.end(left_over)
    return {"url": str(target)}


class _Push:
    def __init__(self, parcel: Parcel, target: BucketFolder) -> None:
        self._parcel = parcel
        self._folder = target.folder
        self._opened = _opened(parcel, target)

    def begin(self) -> frozenset[str]:
        """Return what earlier pushes wrote and this one lacks; no manifest names it any more."""
        manifest = self._tried(lambda: self._content(MANIFEST_NAME))
        unfinished = self._tried(lambda: self._content(UNFINISHED_NAME))
        earlier = listed_paths(manifest) | listed_paths(unfinished)
        own = frozenset(entry.path for entry in self._parcel.manifest.files)
        self._put_small(UNFINISHED_NAME, unfinished_list(earlier | own))
        if manifest is not None and manifest != self._parcel.manifest.to_bytes():
            self._delete(MANIFEST_NAME)
        return earlier - own - {MANIFEST_NAME, UNFINISHED_NAME}

    def put(self, entry: FileEntry) -> None:
        """Store a file, unless it is there."""
        if self._tried(lambda: self._is_there(entry)):
            self._parcel.skip(entry)
            return
        self._tried(lambda: self._put(entry))
        self._parcel.sent(entry)

    def end(self, left_over: Iterable[str]) -> None:
        """Delete what is of other pushes, and store the list of files, which says all are there."""
        for path in sorted(left_over):
            self._delete(path)
        self._put_small(MANIFEST_NAME, self._parcel.manifest.to_bytes())
        self._delete(UNFINISHED_NAME)

    def _is_there(self, entry: FileEntry) -> bool:
        try:
            stored = obstore.get(self._opened.store, self._key(entry.path), options={"head": True})
        except FileNotFoundError:
            return False
        known = stored.attributes.get(_SHA256)
        return (known, stored.meta["size"]) == (entry.sha256, entry.size_bytes)

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

    def _put_small(self, name: str, content: bytes) -> None:
        store, key = self._opened.store, self._key(name)
        self._tried(lambda: obstore.put(store, key, content, use_multipart=False))

    def _delete(self, name: str) -> None:
        def ask() -> None:
            with suppress(FileNotFoundError):
                obstore.delete(self._opened.store, self._key(name))

        self._tried(ask)

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
