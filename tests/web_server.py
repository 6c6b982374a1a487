"""The web process's own application under ASGI, in a thread of the test: pages that stream."""

import gc
import socket
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn


@contextmanager
def streaming_server() -> Iterator[str]:
    """The address of the application, served as the web process serves it."""
    from controlplane.asgi import application

    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    # From here on who connects waits, and is not refused, until the server is up.
    listener.listen(64)
    config = uvicorn.Config(
        application, lifespan="off", log_config=None, timeout_graceful_shutdown=1
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(30)
        listener.close()
        with warnings.catch_warnings():
            # The body of a request that was still streaming, which Django then leaves open.
            warnings.simplefilter("ignore", ResourceWarning)
            gc.collect()
