"""Object stores on the loopback: S3, Google Cloud Storage and Azure Blob as their clients ask them.

    with BucketServer("S3") as server:
        server.put("weights", "llama/config.json", b"{}")
        ... S3_ENDPOINT=server.endpoint, secret=server.secret

Served: listings in pages, GET and HEAD with ranges and If-Match, of S3 also PUT with If-None-Match
and DELETE, and the refusals of the real stores. Logins are verified as the stores do it (Signature
Version 4, a signed JWT, Shared Key), so a client that signs wrongly is refused here too.
"""

import hashlib
import json
import threading
from collections.abc import Callable
from datetime import datetime
from typing import Self

from controlplane.clock import Clock
from tests.bucket_handler import MODIFIED, BucketHandler, StoredObject
from tests.bucket_logins import ACCOUNT, AzureLogin, GoogleLogin, Login, S3Login
from tests.hub_contents import Request, Trouble
from tests.loopback_server import LoopbackServer

__all__ = ["BucketServer", "Trouble"]

_LOGINS: dict[str, Callable[[], Login]] = {
    "S3": S3Login,
    "GCS": GoogleLogin,
    "AZURE": AzureLogin,
}


class BucketServer:
    """Runs in threads of this process on a free port while the `with` block lasts."""

    def __init__(
        self,
        source: str,
        *,
        page_size: int = 1000,
        clock: Clock | None = None,
        address: str = "127.0.0.1",
    ) -> None:
        self.clock = clock
        self.source = source
        self.login = _LOGINS[source]()
        self.page_size = page_size
        self.buckets: dict[str, dict[str, StoredObject]] = {}
        self.public: set[str] = set()
        """Buckets that need no login."""
        self.unreadable: set[str] = set()
        """Keys that may be listed and not read."""
        self.is_read_only = self.is_full = False
        self.knows_conditions = True
        """Whether a PUT with If-None-Match is carried out."""
        self.is_skewed = False
        """Whether every client's clock is too far from the store's."""
        self.pass_put: Callable[[str], None] = lambda key: None
        """Called with the key before an object is taken in."""
        self.pass_get: Callable[[str], None] = lambda key: None
        """Called with the key before an object is sent."""
        self.region = "us-east-1"
        self.troubles: dict[str, Trouble] = {}
        self.requests: list[Request] = []
        self.stopping = threading.Event()
        self._server = LoopbackServer((address, 0), BucketHandler)
        self._server.store = self  # type: ignore[attr-defined]
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))

    @property
    def endpoint(self) -> str:
        host, port = self._server.server_address[:2]
        base = f"http://{host!s}:{port}"
        return f"{base}/{ACCOUNT}" if self.source == "AZURE" else base

    @property
    def secret(self) -> str:
        """The content of a secret that opens everything."""
        return json.dumps(self.login.secret)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.stopping.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def put(self, bucket: str, key: str, content: bytes, *, etag: str | None = None) -> None:
        """Store an object; its ETag is an MD5 as in the real stores, an opaque one on Azure."""
        md5 = hashlib.md5(content, usedforsecurity=False).hexdigest()
        etag = etag or (f"0x8D{md5[:13].upper()}" if self.source == "AZURE" else md5)
        self.buckets.setdefault(bucket, {})[key] = StoredObject(content, f'"{etag}"', self.now())

    def now(self) -> datetime:
        """Return the time of the store."""
        return MODIFIED if self.clock is None else self.clock.now()

    def put_files(self, bucket: str, folder: str, files: dict[str, bytes]) -> None:
        for name, content in files.items():
            self.put(bucket, f"{folder}/{name}", content)

    def trouble(self, key: str, trouble: Trouble) -> None:
        """Let something go wrong with a key, or with any `get`, `put`, `delete` or `list`."""
        self.troubles[key] = trouble

    def asked_for(self, key: str) -> list[Request]:
        """Return the requests for an object."""
        return [each for each in self.requests if each.path.endswith(f"/{key}")]
