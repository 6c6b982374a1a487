"""A head as it was read and decided, kept for the next request on its connection.

A client's library sends the same head again and again, but for the length of the body: then what
follows from it is known, for as long as the routes and the key are the same.
"""

from math import inf
from typing import TYPE_CHECKING

from workers.gateway.headers import lines_to_engines

if TYPE_CHECKING:
    from workers.gateway.request import Admission, Request

NEVER = -1
LONGEST_KEPT_BYTES = 4096
"""Of an idle connection's memory."""


class KnownHead:
    """One that was not refused."""

    __slots__ = (
        "_authorization", "_chunked", "_connection", "_count", "_expects_continue", "_method",
        "_named", "_path", "_query", "_url", "_version", "admission", "edition", "holds_until",
        "to_engines",
    )  # fmt: skip

    def __init__(self, request: "Request", version: str) -> None:
        self._version, self._count = version, len(request.headers)
        self._url, self._method, self._named = request.url, request.method, request.named
        self._path, self._query = request.path, request.query
        self._authorization, self._connection = request.authorization, request.connection
        self._chunked, self._expects_continue = request.chunked, request.expects_continue
        self.to_engines = lines_to_engines(request.headers, request.connection)
        """What of it crosses."""
        self.admission: Admission | None = None
        self.edition = NEVER
        """Of the routes by which it was admitted: themselves they would be kept alive by it."""
        self.holds_until = inf
        """When its key ends."""

    @property
    def size_bytes(self) -> int:
        named = self._named
        return len(self._url) + sum(map(len, named)) + sum(map(len, named.values()))

    def tells(self, request: "Request", version: str) -> bool:
        """Tell a request that says the same what is known of it; return whether it does."""
        if self._named != request.named or self._url != request.url:
            return False
        if self._count != len(request.headers) or self._method != request.method:
            return False
        if self._version != version:
            return False
        request.path, request.query = self._path, self._query
        request.authorization, request.connection = self._authorization, self._connection
        request.chunked, request.expects_continue = self._chunked, self._expects_continue
        request.known = self
        return True
