"""One data set of a hub, read by ranges: what it holds, and files that open like local ones."""

import io
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any, TypeVar
from urllib.parse import quote

from huggingface_hub import get_session
from huggingface_hub.errors import (
    GatedRepoError,
    HfHubHTTPError,
    OfflineModeIsEnabled,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)
from huggingface_hub.utils import hf_raise_for_status  # type: ignore[attr-defined]  # documented

from controlplane.domain.failures.registry import calibration
from controlplane.domain.json_text import read_json
from controlplane.sources import SourceOptions
from controlplane.sources.bearer import bearer
from controlplane.sources.hub import HUB_ERRORS, is_passing
from controlplane.sources.hub_http import between, http, shortened, whole
from workers.build_steps.calibration import failures
from workers.build_steps.calibration.names import Dataset
from workers.build_steps.failures import StepFailure

Answer = TypeVar("Answer")
_LONGEST_WAIT_SECONDS = 16.0
_BLOCK_BYTES = 1024 * 1024
"""What one request fetches at least: rows are read a few at a time."""


class DatasetHub:
    def __init__(self, dataset: Dataset, *, token: str | None, options: SourceOptions) -> None:
        self._dataset, self._options = dataset, options
        self._headers = {"user-agent": "enginehouse", "accept-encoding": "identity"}
        if token:
            header = bearer(token)
            if header is None:
                raise failures.no_token(dataset.name)
            self._headers["authorization"] = header

    def information(self, revision: str | None) -> Mapping[str, Any]:
        """Return the hub's description at a revision: commit, files with sizes, GPU."""
        url = f"{self._options.hf_endpoint}/api/datasets/{self._dataset.repo}"
        if revision is not None:
            url += f"/revision/{quote(revision, safe='')}"

        def ask() -> Any:
            with self._opened(url, params={"blobs": "true"}) as response:
                return read_json(whole(response, clock=self._options.clock))

        answer = self._retried(ask)
        if not isinstance(answer, dict) or not isinstance(answer.get("siblings"), list):
            raise StepFailure.of(
                calibration.UNAVAILABLE,
                name=self._dataset.name,
                endpoint=self._options.hf_endpoint,
                status=200,
            )
        return answer

    def open(self, commit: str, path: str, size: int) -> "RemoteFile":
        """Return a file of a pinned commit, of which only what is read is fetched."""
        return RemoteFile(lambda start, end: self.read(commit, path, start, end), size)

    def read(self, commit: str, path: str, start: int, end: int) -> bytes:
        endpoint, repo = self._options.hf_endpoint, self._dataset.repo
        url = f"{endpoint}/datasets/{repo}/resolve/{commit}/{quote(path)}"

        def ask() -> bytes:
            with self._opened(url, headers={"range": f"bytes={start}-{end - 1}"}) as response:
                skip = 0 if response.status_code == HTTPStatus.PARTIAL_CONTENT else start
                return between(response, skip, end - start)

        content = self._retried(ask)
        if len(content) != end - start:
            raise StepFailure.of(calibration.BROKEN, name=self._dataset.name, file=path)
        return content

    @contextmanager
    def _opened(
        self,
        url: str,
        *,
        params: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Iterator[http.Response]:
        with get_session().stream(
            "GET",
            url,
            params=params,
            headers={**self._headers, **(headers or {})},
            timeout=self._options.timeout_seconds,
            follow_redirects=True,
        ) as response:
            if response.status_code >= HTTPStatus.BAD_REQUEST:
                hf_raise_for_status(shortened(response))
            yield response

    def _retried(self, ask: Callable[[], Answer]) -> Answer:
        for attempt in range(1, self._options.attempts + 1):
            try:
                return ask()
            except HUB_ERRORS as error:
                if attempt == self._options.attempts or not is_passing(error):
                    raise self._explained(error) from error
                pause = self._options.backoff_seconds * 2.0 ** (attempt - 1)
                self._options.clock.sleep(min(pause, _LONGEST_WAIT_SECONDS))
            except ValueError as error:  # no JSON: a proxy's sign-in page
                raise StepFailure.of(
                    calibration.UNAVAILABLE,
                    name=self._dataset.name,
                    endpoint=self._options.hf_endpoint,
                    status=200,
                ) from error
        raise AssertionError("a try either returns or raises")

    def _explained(self, error: Exception) -> StepFailure:
        name, endpoint = self._dataset.name, self._options.hf_endpoint
        has_token = "authorization" in self._headers
        if not isinstance(error, HfHubHTTPError):
            reason = "HF_HUB_OFFLINE is set" if isinstance(error, OfflineModeIsEnabled) else ""
            return StepFailure.of(
                calibration.OFFLINE,
                name=name,
                endpoint=endpoint,
                detail=reason or str(error) or type(error).__name__,
            )
        if isinstance(error, GatedRepoError):
            return failures.refused(name, endpoint, has_token=has_token)
        if isinstance(error, RevisionNotFoundError):
            return StepFailure.of(
                calibration.REVISION, name=name, revision=self._dataset.revision or "main"
            )
        if isinstance(error, RepositoryNotFoundError):
            return StepFailure.of(calibration.NOT_FOUND, name=name, endpoint=endpoint)
        if error.response.status_code in {401, 403}:
            return failures.refused(name, endpoint, has_token=has_token)
        return StepFailure.of(
            calibration.UNAVAILABLE, name=name, endpoint=endpoint, status=error.response.status_code
        )


class RemoteFile(io.RawIOBase):
    """A file whose bytes come in ranges; pyarrow and a line reader seek in it as in a local one."""

    def __init__(self, fetch: Callable[[int, int], bytes], size: int) -> None:
        self._fetch, self._size = fetch, size
        self._place = 0
        self._block_start, self._block = 0, b""

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._place

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Move to a place; nothing is fetched."""
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._place, io.SEEK_END: self._size}[whence]
        self._place = start + offset
        return self._place

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer).cast("B")
        end = min(self._place + len(view), self._size)
        if end <= self._place:
            return 0
        content = self._between(self._place, end)
        view[: len(content)] = content
        self._place += len(content)
        return len(content)

    def _between(self, start: int, end: int) -> bytes:
        block_end = self._block_start + len(self._block)
        if not (self._block_start <= start and end <= block_end):
            read_end = min(max(end, start + _BLOCK_BYTES), self._size)
            self._block_start, self._block = start, self._fetch(start, read_end)
        return self._block[start - self._block_start : end - self._block_start]
