"""Listening sockets: bound once by `manage.py up`, handed down to whichever process serves them.

A restarted server finds its socket still open and the waiting connections still in it.
"""

import errno
import socket


class NoFreePort(Exception):
    """Every port tried is taken; the message says which."""


def listen(host: str, preferred: int, *, tries: int = 20) -> socket.socket:
    """Return a listening socket on `preferred`, or on the next free port after it."""
    for port in range(preferred, preferred + tries):
        try:
            return _listening(host, port)
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise
    raise NoFreePort(
        f"Ports {preferred} to {preferred + tries - 1} of {host} are all taken; "
        "stop what listens there, or name another with WEB_PORT or GATEWAY_PORT."
    )


def port_of(listener: socket.socket) -> int:
    return int(listener.getsockname()[1])


def reserved(host: str = "127.0.0.1") -> socket.socket:
    """Return a socket that keeps a free port, while it is open, for a server that we start.

    It does not listen. A server that reuses addresses, as servers do, binds beside it, also after
    it was killed; nobody else is given that port meanwhile.
    """
    return _bound(host, 0)


def _listening(host: str, port: int) -> socket.socket:
    listener = _bound(host, port)
    try:
        listener.listen(1024)
    except OSError:
        listener.close()
        raise
    listener.setblocking(False)
    return listener


def _bound(host: str, port: int) -> socket.socket:
    bound = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((host, port))
    except OSError:
        bound.close()
        raise
    return bound
