"""All files of a pinned checkpoint, several at once, through a cache that survives the build."""

import os
import shutil
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from controlplane.artifacts.digests import FileEntry
from controlplane.artifacts.durable import means_disk_full
from controlplane.sources.cache import commit_folder
from controlplane.sources.download import Download, Remote, Stopped
from controlplane.sources.failures import disk_full
from controlplane.sources.looking import Looks
from controlplane.sources.options import SourceOptions
from controlplane.sources.placing import place
from controlplane.sources.resolved import Resolved
from controlplane.sources.room import check_room


def fetch_files(
    remote: Remote,
    resolved: Resolved,
    destination: Path,
    *,
    options: SourceOptions,
    on_progress: Callable[[int, int | None], None],
    look: Looks,
) -> tuple[FileEntry, ...]:
    """Return the files, now in `destination`; a broken fetch goes on in the same cache folder."""
    destination.mkdir(parents=True, exist_ok=True)
    cache = commit_folder(options.cache_dir or destination.parent / ".fetching", resolved)
    try:
        cache.mkdir(parents=True, exist_ok=True)
        check_room(resolved.checkpoint, cache, resolved.size_bytes - _bytes_in(cache))
        digests = _download_all(
            remote, resolved, cache, options=options, on_progress=on_progress, look=look
        )
        for file in resolved.files:
            place(cache / file.path, destination / file.path)
    except OSError as error:
        if means_disk_full(error):
            raise disk_full(resolved.checkpoint, os.fspath(cache)) from error
        raise
    if options.cache_dir is None:
        shutil.rmtree(destination.parent / ".fetching")
    return tuple(
        FileEntry(path=file.path, size_bytes=file.size_bytes, sha256=sha256)
        for file, sha256 in zip(resolved.files, digests, strict=True)
    )


def _download_all(
    remote: Remote,
    resolved: Resolved,
    cache: Path,
    *,
    options: SourceOptions,
    on_progress: Callable[[int, int | None], None],
    look: Looks,
) -> list[str]:
    """Return the sha256 of every file, in the order of the files."""
    stop = threading.Event()
    counter = _Counter(resolved.size_bytes, on_progress)
    downloads = [
        Download(
            remote,
            file=file,
            target=cache / file.path,
            options=options,
            on_bytes=counter.add,
            look=look,
            stop=stop,
        )
        for file in resolved.files
    ]
    with ThreadPoolExecutor(options.parallel_files) as pool:
        outcomes = list(pool.map(lambda each: _outcome(each, stop), downloads))
    failed = [each for each in outcomes if isinstance(each, Exception)]
    if failed:
        raise next((each for each in failed if not isinstance(each, Stopped)), failed[0])
    return [each for each in outcomes if isinstance(each, str)]


def _outcome(download: Download, stop: threading.Event) -> str | Exception:
    """Return the file's sha256 or what went wrong; the first failure stops the other files."""
    if stop.is_set():
        return Stopped()
    try:
        return download.run()
    except Exception as error:
        stop.set()
        return error


def _bytes_in(folder: Path) -> int:
    """Return the bytes of its files, which another build may rename or remove just now."""
    total_bytes = 0
    for within, _, names in os.walk(folder):
        for name in names:
            with suppress(FileNotFoundError):
                total_bytes += Path(within, name).stat().st_size
    return total_bytes


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
