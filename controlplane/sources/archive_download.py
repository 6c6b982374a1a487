"""The download of one archive: goes on where it stopped, and is made once."""

import hashlib
import json
import os
import re
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import httpx2

from controlplane.artifacts.digests import hash_file
from controlplane.artifacts.durable import means_disk_full, write_atomically
from controlplane.domain.spec import CheckpointRepository
from controlplane.domain.spec.repository_forms import unsigned
from controlplane.sources.address_http import HTTP_ERRORS
from controlplane.sources.archive_http import explain, is_passing, opened
from controlplane.sources.cache import archive_folder
from controlplane.sources.download import alone
from controlplane.sources.failures import disk_full
from controlplane.sources.options import SourceOptions
from controlplane.sources.room import check_room

_RANGE = re.compile(r"bytes (\d+)-(\d+)/(\d+|\*)")
# Of a body without an announced length: it may not fill the disk to the last byte.
_RESERVE_BYTES = 1_000_000_000
_BETWEEN_CHECKS_BYTES = 64_000_000


@dataclass(frozen=True, kw_only=True)
class Version:
    etag: str | None
    modified: str | None
    size_bytes: int | None

    @classmethod
    def of(cls, response: httpx2.Response) -> "Version":
        size = response.headers.get("content-length", "")
        whole = int(size) if size.isdecimal() else None
        if response.status_code == 206:
            match = _RANGE.fullmatch(response.headers.get("content-range", ""))
            whole = int(match[3]) if match and match[3] != "*" else None
        return cls(
            etag=response.headers.get("etag"),
            modified=response.headers.get("last-modified"),
            size_bytes=whole,
        )

    @property
    def validator(self) -> str | None:
        """What a request names so that it gets the rest of this state, or the whole of a newer."""
        if self.etag and not self.etag.startswith("W/"):
            return self.etag
        return self.modified

    @property
    def name(self) -> str:
        """A short text that differs when anything here does."""
        text = json.dumps(asdict(self))
        return f"version-{hashlib.sha256(text.encode()).hexdigest()[:40]}"

    @property
    def can_be_told(self) -> bool:
        """Whether an equal version means equal bytes."""
        return bool(self.etag or self.modified)


@dataclass(frozen=True, kw_only=True)
class Archive:
    path: Path
    sha256: str


class ArchiveDownload:
    def __init__(
        self,
        checkpoint: CheckpointRepository,
        cache_dir: Path,
        *,
        options: SourceOptions,
        on_progress: Callable[[int, int | None], None],
    ) -> None:
        self._checkpoint = checkpoint
        self._url = checkpoint.repo
        # A signature in the query differs each time and names the same archive.
        folder = archive_folder(cache_dir, unsigned(self._url))
        self._whole, self._about_whole = folder / "archive", folder / "archive.json"
        self._partial, self._about_partial = folder / "partial", folder / "partial.json"
        self._options = options
        self._on_progress = on_progress

    def kept(self, sha256: str) -> Archive | None:
        about = _read(self._about_whole)
        if about.get("sha256") != sha256 or not self._whole.exists():
            return None
        os.utime(self._whole)
        return Archive(path=self._whole, sha256=sha256)

    def run(self) -> Archive:
        self._whole.parent.mkdir(parents=True, exist_ok=True)
        with alone(self._whole):
            try:
                return self._completed()
            except OSError as error:
                if means_disk_full(error):
                    raise disk_full(self._checkpoint, os.fspath(self._whole.parent)) from error
                raise

    def _completed(self) -> Archive:
        fruitless = 0
        while True:
            had = self._had()
            try:
                if reason := self._receive(had):
                    return reason
            except HTTP_ERRORS as error:
                fruitless = 0 if self._had() > had else fruitless + 1
                if not is_passing(error) or fruitless >= self._options.attempts:
                    raise explain(error, self._url) from None
                self._options.clock.sleep(self._wait_seconds(fruitless))

    def _wait_seconds(self, fruitless: int) -> float:
        return self._options.backoff_seconds * float(min(2 ** max(fruitless - 1, 0), 16))

    def _receive(self, had: int) -> Archive | None:
        begun = _read_version(self._about_partial) if had else None
        before = begun.validator if begun else None
        headers = {"range": f"bytes={had}-", "if-range": before} if before else {}
        with opened(self._url, headers=headers, options=self._options) as response:
            if begun and _has_no_more(response, had):
                return self._finished(begun)
            version = Version.of(response)
            if response.status_code == 416 or not _continues(response, had):
                self._partial.unlink(missing_ok=True)  # the part here is of no archive there
                return None
            if response.status_code == 200 and (same := self._same(version)):
                return same
            self._store(response, had if response.status_code == 206 else 0, version)
        return self._finished(version)

    def _same(self, version: Version) -> Archive | None:
        """Return the archive that lies here when the server still has that one."""
        about = _read(self._about_whole)
        if not version.can_be_told or about.get("version") != asdict(version):
            return None
        return self.kept(str(about.get("sha256")))

    def _store(self, response: httpx2.Response, start: int, version: Version) -> None:
        folder = self._partial.parent
        size = version.size_bytes
        check_room(self._checkpoint, folder, _RESERVE_BYTES if size is None else size - start)
        write_atomically(self._about_partial, json.dumps(asdict(version)).encode())
        self._partial.touch()
        done, checked = start, start
        with self._partial.open("r+b") as file:
            file.truncate(start)
            file.seek(start)
            for chunk in response.iter_raw():
                file.write(chunk)
                done += len(chunk)
                self._on_progress(done, size)
                if size is None and done - checked > _BETWEEN_CHECKS_BYTES:
                    check_room(self._checkpoint, folder, _RESERVE_BYTES)
                    checked = done

    def _finished(self, version: Version) -> Archive:
        sha256 = hash_file(self._partial)
        self._about_whole.unlink(missing_ok=True)
        self._partial.replace(self._whole)
        about = {"sha256": sha256, "version": asdict(version)}
        write_atomically(self._about_whole, json.dumps(about).encode())
        return Archive(path=self._whole, sha256=sha256)

    def _had(self) -> int:
        return self._partial.stat().st_size if self._partial.exists() else 0


def _has_no_more(response: httpx2.Response, had: int) -> bool:
    # Had its state changed, it would have sent the new one instead of refusing the range.
    content_range = response.headers.get("content-range", "")
    return response.status_code == 416 and content_range == f"bytes */{had}"


def _continues(response: httpx2.Response, had: int) -> bool:
    """Return whether an answer begins where the part that is here ends, or at the front."""
    if response.status_code != 206:
        return True
    match = _RANGE.fullmatch(response.headers.get("content-range", ""))
    return match is not None and int(match[1]) == had


def _read_version(path: Path) -> Version | None:
    about = _read(path)
    return Version(**about) if about.keys() == Version.__dataclass_fields__.keys() else None


def _read(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}
