"""Checkpoints in buckets of S3, Google Cloud Storage and Azure Blob Storage."""

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from controlplane.artifacts.digests import FileEntry
from controlplane.domain.failures.registry import buckets
from controlplane.domain.spec import CheckpointRepository
from controlplane.domain.spec.checkpoint_repository import DEFAULT_SECRET_NAME
from controlplane.sources import bucket_failures as failures
from controlplane.sources.bucket_errors import STORE_ERRORS, explain, is_passing, was_broken_off
from controlplane.sources.bucket_failures import bucket_failure
from controlplane.sources.bucket_stores import open_store
from controlplane.sources.bucket_words import Lookup
from controlplane.sources.fetching import fetch_files
from controlplane.sources.looking import Looks
from controlplane.sources.options import SourceOptions
from controlplane.sources.resolved import Resolved, SourceFile
from controlplane.sources.selection import ADAPTER_FILES, select, select_code

if TYPE_CHECKING:
    from obstore import ObjectMeta

_MOST_OBJECTS = 50_000
LISTED_AT_ONCE = 1000
_MD5_ETAG = re.compile(r'"?([0-9a-f]{32})"?')
_LARGEST_CONFIG_BYTES = 32 * 1024 * 1024
_ALWAYS_THERE = ("config.json", ADAPTER_FILES[0])

T = TypeVar("T")


def resolve(
    checkpoint: CheckpointRepository,
    *,
    secret: str | None,
    options: SourceOptions,
    commit: str | None,
    is_adapter: bool = False,
) -> Resolved:
    """Return the folder's files as listed now, pinned by a digest of their names and ETags."""
    bucket = Bucket(checkpoint, secret=secret, options=options)
    listed = bucket.list()
    names = select(checkpoint, listed, is_adapter=is_adapter)
    code = () if is_adapter else select_code(listed)
    files = tuple(
        replace(_source_file(name, listed[name]), is_code=name in code) for name in (*names, *code)
    )
    digest = _digest(bucket.lookup.place, files)
    if commit is not None and commit != digest:
        raise bucket_failure(
            buckets.CHANGED, bucket.lookup, what=f"its files were `{commit}` and are `{digest}`"
        )
    return Resolved(checkpoint=checkpoint, commit=digest, files=bucket.with_digests(files))


def fetch(
    resolved: Resolved,
    destination: Path,
    *,
    secret: str | None,
    options: SourceOptions,
    on_progress: Callable[[int, int | None], None],
    look: Looks,
) -> tuple[FileEntry, ...]:
    bucket = Bucket(resolved.checkpoint, secret=secret, options=options)
    return fetch_files(
        bucket, resolved, destination, options=options, on_progress=on_progress, look=look
    )


class BucketReader:
    """Ranged reads of a resolved folder."""

    def __init__(self, resolved: Resolved, *, secret: str | None, options: SourceOptions) -> None:
        self._bucket = Bucket(resolved.checkpoint, secret=secret, options=options)
        self._files = {file.path: file for file in resolved.files}

    def read(self, path: str, start: int, end: int) -> bytes:
        return self._bucket.read(self._files[path], start, end)


class Bucket:
    """One folder of a bucket as it shows itself to one login."""

    errors = STORE_ERRORS

    def __init__(
        self, checkpoint: CheckpointRepository, *, secret: str | None, options: SourceOptions
    ) -> None:
        # The token for the hub is nobody else's business.
        own = secret if checkpoint.runtime_secret_name != DEFAULT_SECRET_NAME else None
        opened = open_store(checkpoint, secret=own, options=options)
        self.lookup = Lookup(
            checkpoint=checkpoint, place=opened.place, has_secret=opened.has_secret
        )
        self._store = opened.store
        self._folder = f"{opened.folder.folder}/" if opened.folder.folder else ""
        self._options = options

    def list(self) -> "dict[str, ObjectMeta]":
        listed = self._retried(self._list, of_listing=True)
        if not listed:
            raise bucket_failure(buckets.NOT_FOUND, self.lookup)
        return listed

    def first_names(self) -> Sequence[str]:
        listed = self._retried(self._first_chunk, of_listing=True)
        if not listed:
            raise bucket_failure(buckets.NOT_FOUND, self.lookup)
        return listed

    def with_digests(self, files: Sequence[SourceFile]) -> tuple[SourceFile, ...]:
        """Return the files, with MD5s where the ETags of this bucket are such; checks access.

        An ETag of 32 hex digits is the MD5 of the content, unless the bucket encrypts with keys of
        its own. One small file tells: it must be read anyway, since who may list may not always
        read.
        """
        known = next(file for file in files if file.path in _ALWAYS_THERE)
        content = self.read(known, 0, min(known.size_bytes, _LARGEST_CONFIG_BYTES))
        md5 = hashlib.md5(content, usedforsecurity=False).hexdigest()
        if _as_md5(known) != md5:
            return tuple(files)
        return tuple(replace(file, md5=_as_md5(file)) for file in files)

    def read(self, file: SourceFile, start: int, end: int) -> bytes:
        if end <= start:
            return b""

        def ask() -> bytes:
            options = {"range": (start, end), **_only(file)}
            return bytes(self._store.get(self._folder + file.path, options=options).bytes())  # type: ignore[arg-type]

        return self._retried(ask)

    @contextmanager
    def stream(self, file: SourceFile, start: int) -> Iterator[tuple[Iterator[bytes], int]]:
        options = {"range": {"offset": start}, **_only(file)} if start else _only(file)
        stored = self._store.get(self._folder + file.path, options=options)  # type: ignore[arg-type]
        yield map(bytes, stored.stream(min_chunk_size=1)), stored.range[0]

    def is_passing(self, error: Exception) -> bool:
        return is_passing(error)

    def explained(self, error: Exception) -> Exception:
        return explain(error, self.lookup)

    def given_up(self, error: Exception, path: str) -> Exception:
        return (
            bucket_failure(buckets.BROKEN, self.lookup, file=path)
            if was_broken_off(error)
            else self.explained(error)
        )

    def corrupt(self, path: str, expected: str, actual: str) -> Exception:
        return bucket_failure(
            buckets.CORRUPT, self.lookup, file=path, expected=expected, found=actual
        )

    def wait_seconds(self, attempt: int, error: Exception) -> float:
        return self._options.backoff_seconds * float(min(2 ** (attempt - 1), 16))

    def _retried(self, ask: Callable[[], T], *, of_listing: bool = False) -> T:
        """Return what `ask` returns; try again where the trouble may pass, then say what it was."""
        for attempt in range(1, self._options.attempts + 1):
            try:
                return ask()
            except STORE_ERRORS as error:
                if attempt == self._options.attempts or not is_passing(error):
                    raise explain(error, self.lookup, of_listing=of_listing) from error
                self._options.clock.sleep(self.wait_seconds(attempt, error))
        raise AssertionError("a try either returns or raises")

    def _first_chunk(self) -> Sequence[str]:
        chunk = next(iter(self._store.list(self._folder or None, chunk_size=LISTED_AT_ONCE)), [])
        return [each["path"].removeprefix(self._folder) for each in chunk]

    def _list(self) -> "dict[str, ObjectMeta]":
        objects: dict[str, ObjectMeta] = {}
        for chunk in self._store.list(self._folder or None, chunk_size=LISTED_AT_ONCE):
            for each in chunk:
                name = each["path"].removeprefix(self._folder)
                # What consoles make so that an empty folder can be seen.
                if name and not (each["size"] == 0 and name.endswith("/")):
                    objects[name] = each
            if len(objects) > _MOST_OBJECTS:
                raise failures.too_many(self.lookup, _MOST_OBJECTS)
        return objects


def _only(file: SourceFile) -> dict[str, str]:
    return {"if_match": file.etag} if file.etag else {}


def _source_file(name: str, listed: "ObjectMeta") -> SourceFile:
    return SourceFile(path=name, size_bytes=listed["size"], etag=listed["e_tag"])


def _as_md5(file: SourceFile) -> str | None:
    match = _MD5_ETAG.fullmatch(file.etag or "")
    return match[1] if match else None


def _digest(place: str, files: Sequence[SourceFile]) -> str:
    # The place too: containers of two accounts may have one name.
    seen = [place, *((file.path, file.size_bytes, file.etag) for file in files)]
    return f"listing-{hashlib.sha256(json.dumps(seen).encode()).hexdigest()[:40]}"
