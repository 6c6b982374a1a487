"""Requests to a hub: one repository, one token, with retries and failures in words."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar
from urllib.parse import quote

from huggingface_hub import get_session
from huggingface_hub.errors import HfHubHTTPError, OfflineModeIsEnabled
from huggingface_hub.utils import hf_raise_for_status  # type: ignore[attr-defined]  # documented

from controlplane.domain.failures.registry import hub
from controlplane.domain.json_text import read_json
from controlplane.domain.spec import CheckpointRepository
from controlplane.sources.bearer import bearer
from controlplane.sources.hub_failures import Lookup, explain, hub_failure, no_token
from controlplane.sources.hub_http import between, http, shortened, whole
from controlplane.sources.options import SourceOptions

Answer = TypeVar("Answer")

# 408 and 429 ask for another try, 5xx are the server's own trouble.
_WORTH_RETRYING = frozenset({408, 429, 500, 502, 503, 504})
_LONGEST_WAIT_SECONDS = 60.0

HUB_ERRORS = (http.RequestError, HfHubHTTPError, OfflineModeIsEnabled)
"""What a request may raise, beside the failures of our own."""


class Hub:
    """One repository as a hub shows it to one token."""

    def __init__(
        self, checkpoint: CheckpointRepository, *, token: str | None, options: SourceOptions
    ) -> None:
        self.lookup = Lookup(
            checkpoint=checkpoint, endpoint=options.hf_endpoint, has_token=bool(token)
        )
        self._options = options
        self._headers = {"user-agent": "enginehouse", "accept-encoding": "identity"}
        if token:
            self._headers["authorization"] = self._bearer(token)

    def information(self, revision: str | None) -> Mapping[str, Any]:
        url = f"{self.lookup.endpoint}/api/models/{self.lookup.repo}"
        if revision is not None:
            url += f"/revision/{quote(revision, safe='')}"

        def ask() -> Mapping[str, Any]:
            with self._opened("GET", url, params={"blobs": "true"}) as response:
                return self._as_information(whole(response, clock=self._options.clock))

        return self.retried(ask)

    def check_access(self, commit: str, path: str) -> None:
        """Raise SourceFailure unless this token may read the files, not just their names."""

        def ask() -> None:
            with self._opened("HEAD", self.file_url(commit, path)):
                pass

        self.retried(ask)

    def read(self, commit: str, path: str, start: int, end: int) -> bytes:
        def ask() -> bytes:
            with self.stream(commit, path, start=start, end=end) as (response, first):
                return between(response, start - first, end - start)

        return self.retried(ask)

    @contextmanager
    def stream(
        self, commit: str, path: str, *, start: int = 0, end: int | None = None
    ) -> Iterator[tuple[http.Response, int]]:
        """Give the answer to one try and the offset its body starts at (0 where ranges are off)."""
        byte_range = f"bytes={start}-{'' if end is None else end - 1}"
        headers = {"range": byte_range} if start or end is not None else {}
        with self._opened("GET", self.file_url(commit, path), headers=headers) as response:
            yield response, start if response.status_code == 206 else 0

    def file_url(self, commit: str, path: str) -> str:
        return f"{self.lookup.endpoint}/{self.lookup.repo}/resolve/{commit}/{quote(path)}"

    def retried(self, ask: Callable[[], Answer]) -> Answer:
        """Return what `ask` returns; try again where the trouble may pass, then say what it was."""
        for attempt in range(1, self._options.attempts + 1):
            try:
                return ask()
            except HUB_ERRORS as error:
                if attempt == self._options.attempts or not is_passing(error):
                    raise self.explained(error) from error
                self._options.clock.sleep(self.wait_seconds(attempt, error))
        raise AssertionError("a try either returns or raises")

    def explained(self, error: Exception) -> Exception:
        return explain(error, self.lookup)

    def wait_seconds(self, attempt: int, error: Exception) -> float:
        """Return the pause before the next try: what the hub asks for, or a doubling one."""
        if isinstance(error, HfHubHTTPError):
            retry_after = error.response.headers.get("retry-after", "")
            if retry_after.isdecimal():
                return min(float(retry_after), _LONGEST_WAIT_SECONDS)
        return self._options.backoff_seconds * float(min(2 ** (attempt - 1), 16))

    def _as_information(self, content: bytes) -> Mapping[str, Any]:
        try:
            answer = read_json(content)
        except ValueError:
            answer = None
        if not isinstance(answer, dict) or not isinstance(answer.get("siblings"), list):
            raise hub_failure(hub.NOT_A_HUB, self.lookup)
        return answer

    def _bearer(self, token: str) -> str:
        header = bearer(token)
        if header is None:
            raise no_token(self.lookup)
        return header

    @contextmanager
    def _opened(
        self,
        method: str,
        url: str,
        *,
        params: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Iterator[http.Response]:
        with get_session().stream(
            method,
            url,
            params=params,
            headers={**self._headers, **(headers or {})},
            timeout=self._options.timeout_seconds,
        ) as response:
            if response.status_code >= 400:
                hf_raise_for_status(shortened(response))
            yield response


def is_passing(error: Exception) -> bool:
    if isinstance(error, HfHubHTTPError):
        return error.response.status_code in _WORTH_RETRYING
    return isinstance(error, http.TransportError)
