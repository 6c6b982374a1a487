"""Requests to one folder of a bucket, each tried a bounded number of times."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from http import HTTPStatus
from typing import TYPE_CHECKING, Literal, TypeVar, cast
from urllib.parse import urlsplit

import obstore
from obstore.exceptions import AlreadyExistsError
from obstore.store import S3Store

from controlplane.artifacts.bucket.address import Address, Keys
from controlplane.artifacts.bucket.answers import explain, is_worth_another_try
from controlplane.artifacts.patience import Patience
from controlplane.bucket_answers import STORE_ERRORS, Answer
from controlplane.clock import SYSTEM, Clock

if TYPE_CHECKING:
    from obstore.store import ClientConfig, RetryConfig, S3Config, S3Credential

# Retrying is ours: what has arrived counts, and the clock is one that can be given.
_NO_RETRIES: "RetryConfig" = {"max_retries": 0, "retry_timeout": timedelta(seconds=1)}
_FOREVER = timedelta(days=365)
_PIECE_BYTES = 1024 * 1024
_LISTED_AT_ONCE = 1000
_LONGEST_DOUBLING = 16

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Listed:
    key: str
    size_bytes: int
    age_seconds: float
    """By the store's own time of its last writing."""


class BucketClient:
    """Keys are relative to the folder that the address names."""

    def __init__(self, address: Address, patience: Patience, *, clock: Clock = SYSTEM) -> None:
        self._address = address
        self._patience = patience
        self._clock = clock
        self._store = _opened(address, patience.silence_seconds)

    @cached_property
    def _uploads(self) -> S3Store:
        # A client of its own: to it a silence is the time that a whole part takes.
        return _opened(self._address, self._patience.upload_seconds)

    def read(self, key: str) -> bytes | None:
        try:
            return self._tried(lambda: bytes(obstore.get(self._store, self._path(key)).bytes()))
        except _NoSuchKey:
            return None

    def stream(self, key: str, size_bytes: int) -> Iterator[bytes]:
        """Yield so many bytes of an object; where a connection breaks off, another goes on."""
        done = failed = 0
        while done < size_bytes:
            try:
                for piece in self._pieces(key, done, size_bytes):
                    done, failed = done + len(piece), 0
                    yield piece
            except STORE_ERRORS as error:
                failed += 1
                self._pause(error, failed)

    def put(self, key: str, content: bytes) -> None:
        """Store an object, in place of another of that key; it is there whole or not at all."""
        self._tried(lambda: self._put(key, content, mode="overwrite"))

    def create(self, key: str, content: bytes) -> bool:
        """Return whether this has stored the object; not where there was one."""
        tries = 0

        def create() -> None:
            nonlocal tries
            tries += 1
            try:
                self._put(key, content, mode="create")
            except STORE_ERRORS as error:
                if _knows_no_conditions(error):
                    raise _NoConditions from error
                raise

        try:
            self._tried(create)
        except AlreadyExistsError:
            # An earlier try of ours may have arrived, whose answer did not.
            return tries > 1 and self.read(key) == content
        except _NoConditions:
            return self._create_if_absent(key, content)
        return True

    def delete(self, key: str) -> None:
        try:
            self._tried(lambda: obstore.delete(self._store, self._path(key)))
        except _NoSuchKey:
            return  # S3 itself says nothing of it

    def list(self, folder: str) -> Sequence[Listed]:
        return self._tried(lambda: self._list(folder))

    def _create_if_absent(self, key: str, content: bytes) -> bool:
        """Do what `create` does in two requests: of two hosts at once the second one may win."""
        if self.read(key) is not None:
            return False
        self.put(key, content)
        return True

    def _pieces(self, key: str, start: int, end: int) -> Iterator[bytes]:
        stored = obstore.get(self._store, self._path(key), options={"range": (start, end)})
        yield from map(bytes, stored.stream(min_chunk_size=_PIECE_BYTES))

    def _put(self, key: str, content: bytes, *, mode: Literal["create", "overwrite"]) -> None:
        obstore.put(self._uploads, self._path(key), content, mode=mode, use_multipart=False)

    def _list(self, folder: str) -> Sequence[Listed]:
        now = self._clock.time()
        pages = obstore.list(self._store, self._path(folder), chunk_size=_LISTED_AT_ONCE)
        objects = [
            Listed(
                key=each["path"].removeprefix(self._address.prefix),
                size_bytes=each["size"],
                age_seconds=now - each["last_modified"].timestamp(),
            )
            for page in pages
            for each in page
        ]
        return sorted(objects, key=lambda each: each.key)

    def _path(self, key: str) -> str:
        return self._address.prefix + key

    def _tried(self, ask: Callable[[], T]) -> T:
        """Return what `ask` returns; try again where the trouble may pass, then say what it was."""
        failed = 0
        while True:
            try:
                return ask()
            except AlreadyExistsError:
                raise
            except STORE_ERRORS as error:
                failed += 1
                self._pause(error, failed)

    def _pause(self, error: Exception, failed: int) -> None:
        """Wait before the next try. Raises _NoSuchKey, or ArtifactFailure where none is left."""
        if Answer.of(error).code == "NoSuchKey":
            raise _NoSuchKey from error
        if failed >= self._patience.attempts or not is_worth_another_try(error):
            raise explain(error, self._address) from error
        doubled = min(2 ** (failed - 1), _LONGEST_DOUBLING)
        self._clock.sleep(self._patience.backoff_seconds * doubled)


class _NoSuchKey(Exception):
    """The bucket is there, and the object is not."""


class _NoConditions(Exception):
    """The store refuses `If-None-Match`, which not every one of them knows."""


def _knows_no_conditions(error: Exception) -> bool:
    return Answer.of(error).status == HTTPStatus.NOT_IMPLEMENTED


def _opened(address: Address, silence_seconds: float) -> S3Store:
    """Return the client. What is left out here it would take from this process's environment."""
    config: S3Config = {
        "region": address.region,
        "endpoint": address.endpoint,
        "aws_endpoint_url_s3": address.endpoint,
        "virtual_hosted_style_request": False,
        "skip_signature": False,
        "s3_express": False,
        "request_payer": False,
        "conditional_put": "etag",
        # Not every store that speaks S3 can delete many at once.
        "disable_bulk_delete": True,
        # Each body is signed with its digest, so no part can be altered on its way there.
        "unsigned_payload": False,
    }
    role = cast("S3Config", {} if address.keys else address.role)
    return S3Store(
        address.bucket,
        config={**config, **role},
        client_options=_client_options(address, silence_seconds),
        retry_config=_NO_RETRIES,
        # Not as settings: a session token of the environment would be added to them.
        credential_provider=_Login(address.keys) if address.keys else None,
    )


def _client_options(address: Address, silence_seconds: float) -> "ClientConfig":
    silence = timedelta(seconds=silence_seconds)
    options: ClientConfig = {
        # With a role this also lets the machine's own service be asked.
        "allow_http": urlsplit(address.endpoint).scheme == "http" or not address.keys,
        "connect_timeout": silence,
        "read_timeout": silence,
        # It would count the whole body of a file, however large.
        "timeout": _FOREVER,
        "user_agent": "enginehouse",
    }
    if address.certificates is not None:
        options["root_certificate"] = address.certificates
    if address.proxy is not None:
        options |= {"proxy_url": address.proxy, "proxy_excludes": address.past_proxy}
    return options


class _Login:
    def __init__(self, keys: Keys) -> None:
        self._keys = keys

    def __call__(self) -> "S3Credential":
        return {
            "access_key_id": self._keys.access_key_id,
            "secret_access_key": self._keys.secret_access_key,
            "token": self._keys.session_token,
            "expires_at": None,
        }
