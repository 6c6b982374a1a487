"""Checkpoints on a hub that speaks Hugging Face's API."""

import os
import re
import shutil
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from controlplane.artifacts.digests import FileEntry, hash_file
from controlplane.artifacts.durable import means_disk_full
from controlplane.domain.spec import CheckpointRepository
from controlplane.sources.cache import commit_folder
from controlplane.sources.download import Download, Stopped
from controlplane.sources.failures import disk_full
from controlplane.sources.hub import Hub
from controlplane.sources.hub_failures import changed, not_a_hub, too_large
from controlplane.sources.options import SourceOptions
from controlplane.sources.placing import place
from controlplane.sources.resolved import Resolved, SourceFile
from controlplane.sources.room import check_room
from controlplane.sources.selection import select

# Above this the hub serves a file only in pieces of its own protocol (huggingface_hub 2.4,
# constants.MAX_HTTP_DOWNLOAD_SIZE, checked 2026-11-27).
_LARGEST_FILE_BYTES = 50 * 1000**3
_COMMIT = re.compile(r"[0-9a-f]{40}")


def resolve(
    checkpoint: CheckpointRepository,
    *,
    token: str | None,
    options: SourceOptions,
    commit: str | None,
) -> Resolved:
    """Return the repository at its revision, or at a commit pinned before."""
    hub = Hub(checkpoint, token=token, options=options)
    answer = hub.information(commit or checkpoint.revision)
    found = str(answer.get("sha") or "")
    if not _COMMIT.fullmatch(found) or (commit and found != commit):
        raise changed(hub.asked, f"the hub names commit `{found}` where `{commit}` was asked for")
    listed = {str(each["rfilename"]): each for each in answer.get("siblings") or ()}
    names = select(checkpoint, listed)
    hub.check_access(found, "config.json")
    files = tuple(_source_file(hub, name, listed[name]) for name in names)
    for file in files:
        if file.size_bytes > _LARGEST_FILE_BYTES:
            raise too_large(hub.asked, file.path)
    return Resolved(checkpoint=checkpoint, commit=found, files=files)


def fetch(
    resolved: Resolved,
    destination: Path,
    *,
    token: str | None,
    options: SourceOptions,
    on_progress: Callable[[int, int | None], None],
) -> tuple[FileEntry, ...]:
    """Return the files, now in `destination`; a broken fetch goes on in the same cache folder."""
    destination.mkdir(parents=True, exist_ok=True)
    cache = commit_folder(options.cache_dir or destination.parent / ".fetching", resolved)
    try:
        cache.mkdir(parents=True, exist_ok=True)
        check_room(cache, resolved.size_bytes - _bytes_in(cache))
        _download_all(resolved, cache, token=token, options=options, on_progress=on_progress)
        for file in resolved.files:
            place(cache / file.path, destination / file.path)
    except OSError as error:
        if means_disk_full(error):
            raise disk_full(os.fspath(cache)) from error
        raise
    if options.cache_dir is None:
        shutil.rmtree(destination.parent / ".fetching")
    return tuple(
        FileEntry(
            path=file.path,
            size_bytes=file.size_bytes,
            sha256=file.sha256 or hash_file(destination / file.path),
        )
        for file in resolved.files
    )


class HubReader:
    """Ranged reads of a resolved repository."""

    def __init__(self, resolved: Resolved, *, token: str | None, options: SourceOptions) -> None:
        self._hub = Hub(resolved.checkpoint, token=token, options=options)
        self._commit = resolved.commit

    def read(self, path: str, start: int, end: int) -> bytes:
        """Return the bytes from `start` up to `end`, not included."""
        return self._hub.read(self._commit, path, start, end)


def _download_all(
    resolved: Resolved,
    cache: Path,
    *,
    token: str | None,
    options: SourceOptions,
    on_progress: Callable[[int, int | None], None],
) -> None:
    hub = Hub(resolved.checkpoint, token=token, options=options)
    stop = threading.Event()
    counter = _Counter(resolved.size_bytes, on_progress)
    downloads = [
        Download(
            hub,
            commit=resolved.commit,
            file=file,
            target=cache / file.path,
            options=options,
            on_bytes=counter.add,
            stop=stop,
        )
        for file in resolved.files
    ]
    with ThreadPoolExecutor(options.parallel_files) as pool:
        failed = [
            error for error in pool.map(lambda each: _outcome(each, stop), downloads) if error
        ]
    if failed:
        raise next((each for each in failed if not isinstance(each, Stopped)), failed[0])


def _outcome(download: Download, stop: threading.Event) -> Exception | None:
    """Return what went wrong; the first failure stops the other files."""
    if stop.is_set():
        return Stopped()
    try:
        download.run()
    except Exception as error:
        stop.set()
        return error
    return None


def _bytes_in(folder: Path) -> int:
    return sum(each.stat().st_size for each in folder.rglob("*") if each.is_file())


class _Counter:
    def __init__(self, total: int, on_progress: Callable[[int, int | None], None]) -> None:
        self._done = 0
        self._total = total
        self._on_progress = on_progress
        self._lock = threading.Lock()

    def add(self, count: int) -> None:
        with self._lock:
            self._done += count
            self._on_progress(self._done, self._total)


def _source_file(hub: Hub, name: str, listed: Mapping[str, Any]) -> SourceFile:
    large = listed.get("lfs") or {}
    size = large.get("size") or listed.get("size")
    if size is None:
        # A mirror that leaves sizes out: an empty file would pass for a whole one.
        raise not_a_hub(hub.asked)
    return SourceFile(
        path=name,
        size_bytes=int(size),
        sha256=large.get("sha256"),
        git_sha1=None if large else listed.get("blobId"),
    )
