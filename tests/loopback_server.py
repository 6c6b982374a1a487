"""What the stand-ins for hubs, buckets and archives answer with."""

from http.server import ThreadingHTTPServer


class LoopbackServer(ThreadingHTTPServer):
    """A thread for each connection, and room for those that come at once.

    Beyond the five of the standard library a client is not heard, and tries again a second later.
    """

    daemon_threads = True
    request_queue_size = 128
