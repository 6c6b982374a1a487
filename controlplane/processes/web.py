"""`python -m controlplane.processes.web`: the web process on an inherited or an own socket."""

import argparse
import os
import socket
import sys

import django
import uvicorn
from django.core.exceptions import ImproperlyConfigured
from django.urls import get_resolver

from controlplane.collecting import without_collecting
from controlplane.processes.listening import ListeningServer
from controlplane.processes.schema import SchemaBehind, wait_for_schema

_SCHEMA_SECONDS = 120.0


def main() -> None:
    """Serve until a signal; connections in flight get five seconds to end."""
    options = _options()
    _wait_until_usable()
    config = uvicorn.Config(
        "controlplane.asgi:application",
        host=options.host,
        port=options.port,
        loop="uvloop",
        http="httptools",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=5,
    )
    with without_collecting():
        config.load()
        load_every_view()
    ListeningServer(config).run(sockets=_inherited())


def load_every_view() -> None:
    """Import what pages and operations stand on, or the first of their requests would wait for it.

    It is 180,000 objects: a full collection in the middle of a request made it wait 0.12 s.
    """
    _ = get_resolver().reverse_dict  # looks through all URLs, which imports their views


def _wait_until_usable() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "controlplane.settings")
    try:
        with without_collecting():
            django.setup()
        wait_for_schema(timeout_seconds=_SCHEMA_SECONDS)
    except (ImproperlyConfigured, SchemaBehind) as error:
        sys.exit(str(error))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    return parser.parse_args()


def _inherited() -> list[socket.socket] | None:
    # systemd's protocol: descriptor 3 is the first of LISTEN_FDS sockets.
    if os.environ.get("LISTEN_FDS") != "1":
        return None
    return [socket.socket(fileno=3)]


if __name__ == "__main__":
    main()
