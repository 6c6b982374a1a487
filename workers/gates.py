"""Gates: places where a process under test says that it is there, and stands until let go on.

Without ENGINEHOUSE_GATES in its environment, as in every installation, a process passes them all.
"""

import os
import socket
from contextlib import suppress

VARIABLE = "ENGINEHOUSE_GATES"
"""The Unix socket at which someone keeps the gates."""


def has_gates() -> bool:
    return VARIABLE in os.environ


def pass_gate(place: str) -> None:
    """Return once whoever keeps the gates lets this process go on, at once where nobody does."""
    address = os.environ.get(VARIABLE)
    if not address:
        return
    # A keeper that is gone holds nobody.
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as gate:
        gate.connect(address)
        gate.send(f"{os.getpid()} {place}".encode())
        gate.recv(1)
