"""`python -m controlplane.processes.web`: the web process on an inherited or an own socket."""

import argparse
import os
import socket
import sys

import uvicorn
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured


def main() -> None:
    """Serve until a signal; connections in flight get five seconds to end."""
    options = _options()
    _check_settings()
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
    uvicorn.Server(config).run(sockets=_inherited())


def _check_settings() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "controlplane.settings")
    try:
        settings.INSTALLED_APPS  # noqa: B018 - reading one reads them all
    except ImproperlyConfigured as error:
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
