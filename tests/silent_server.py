"""A server that takes connections into its queue and never takes one up."""

import socket
from contextlib import suppress


def attempts_at(silent: socket.socket) -> int:
    """Return how many connections wait there, and end them."""
    silent.setblocking(False)
    outcome = 0
    with suppress(BlockingIOError):
        while True:
            silent.accept()[0].close()
            outcome += 1
    return outcome
