"""What the stand-ins for hubs, buckets and archives answer with, and where nobody answers."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import ThreadingHTTPServer


class LoopbackServer(ThreadingHTTPServer):
    """A thread for each connection, and room for those that come at once.

    Beyond the five of the standard library a client is not heard, and tries again a second later.
    """

    daemon_threads = True
    request_queue_size = 128


@contextmanager
def nobody_listens() -> Iterator[str]:
    """The host and port of a place that refuses connections while the block lasts."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{taken.getsockname()[1]}"
