"""Checkpoints on a hub that speaks Hugging Face's API."""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from controlplane.artifacts.digests import FileEntry
from controlplane.domain.failures.registry import hub as hub_kinds
from controlplane.domain.spec import CheckpointRepository
from controlplane.sources.fetching import fetch_files
from controlplane.sources.hub import HUB_ERRORS, Hub, is_passing
from controlplane.sources.hub_failures import (
    hub_failure,
)
from controlplane.sources.hub_http import http
from controlplane.sources.looking import Looks
from controlplane.sources.options import SourceOptions
from controlplane.sources.resolved import Resolved, SourceFile
from controlplane.sources.selection import ADAPTER_FILES, select, select_code

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
    is_adapter: bool = False,
) -> Resolved:
    """Return the repository at its revision, or at a commit pinned before."""
    hub = Hub(checkpoint, token=token, options=options)
    answer = hub.information(commit or checkpoint.revision)
    sha = str(answer.get("sha") or "")
    if not _COMMIT.fullmatch(sha) or (commit and sha != commit):
        raise hub_failure(
            hub_kinds.CHANGED,
            hub.lookup,
            what=f"the hub names commit `{sha}` where `{commit}` was asked for",
        )
    listed = {str(each["rfilename"]): each for each in answer.get("siblings") or ()}
    names = select(checkpoint, listed, is_adapter=is_adapter)
    code = () if is_adapter else select_code(listed)
    hub.check_access(sha, ADAPTER_FILES[0] if is_adapter else "config.json")
    files = tuple(
        replace(_source_file(hub, name, listed[name]), is_code=name in code)
        for name in (*names, *code)
    )
    for file in files:
        if file.size_bytes > _LARGEST_FILE_BYTES:
            raise hub_failure(hub_kinds.TOO_LARGE, hub.lookup, file=file.path)
    return Resolved(checkpoint=checkpoint, commit=sha, files=files)


def fetch(
    resolved: Resolved,
    destination: Path,
    *,
    token: str | None,
    options: SourceOptions,
    on_progress: Callable[[int, int | None], None],
    look: Looks,
) -> tuple[FileEntry, ...]:
    hub = Hub(resolved.checkpoint, token=token, options=options)
    return fetch_files(
        _Commit(hub, resolved.commit),
        resolved,
        destination,
        options=options,
        on_progress=on_progress,
        look=look,
    )


class HubReader:
    """Ranged reads of a resolved repository."""

    def __init__(self, resolved: Resolved, *, token: str | None, options: SourceOptions) -> None:
        self._hub = Hub(resolved.checkpoint, token=token, options=options)
        self._commit = resolved.commit

    def read(self, path: str, start: int, end: int) -> bytes:
        return self._hub.read(self._commit, path, start, end)


class _Commit:
    errors = HUB_ERRORS

    def __init__(self, hub: Hub, commit: str) -> None:
        self._hub = hub
        self._commit = commit

    @contextmanager
    def stream(self, file: SourceFile, start: int) -> Iterator[tuple[Iterator[bytes], int]]:
        with self._hub.stream(self._commit, file.path, start=start) as (response, first):
            # Without a chunk size: a broken answer would take its unfinished chunk with it.
            yield response.iter_bytes(), first

    def is_passing(self, error: Exception) -> bool:
        return is_passing(error)

    def explained(self, error: Exception) -> Exception:
        return self._hub.explained(error)

    def given_up(self, error: Exception, path: str) -> Exception:
        if isinstance(error, http.RemoteProtocolError | http.ReadError):
            return hub_failure(hub_kinds.BROKEN, self._hub.lookup, file=path)
        return self._hub.explained(error)

    def corrupt(self, path: str, expected: str, actual: str) -> Exception:
        return hub_failure(
            hub_kinds.CORRUPT, self._hub.lookup, file=path, expected=expected, found=actual
        )

    def wait_seconds(self, attempt: int, error: Exception) -> float:
        return self._hub.wait_seconds(attempt, error)


def _source_file(hub: Hub, name: str, listed: Mapping[str, Any]) -> SourceFile:
    large = listed.get("lfs") or {}
    size = large.get("size") or listed.get("size")
    if size is None:
        # A mirror that leaves sizes out: an empty file would pass for a whole one.
        raise hub_failure(hub_kinds.NOT_A_HUB, hub.lookup)
    return SourceFile(
        path=name,
        size_bytes=int(size),
        sha256=large.get("sha256"),
        git_sha1=None if large else listed.get("blobId"),
    )
