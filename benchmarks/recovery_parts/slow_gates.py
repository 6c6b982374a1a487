"""Gates that let go on by themselves, after some time in which to do harm."""

import socket
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from workers.gates import VARIABLE


@contextmanager
def slow_gates(seconds: Mapping[str, float], *, others_seconds: float) -> Iterator[dict[str, str]]:
    """The environment of processes that stand so long at each place."""
    with (
        tempfile.TemporaryDirectory(prefix="eh-gates-") as folder,
        socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener,
    ):
        listener.bind(f"{folder}/gates")
        listener.listen(64)
        keeper = threading.Thread(target=_keep, args=(listener, seconds, others_seconds))
        keeper.start()
        try:
            yield {VARIABLE: str(Path(folder, "gates"))}
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            keeper.join()


def _keep(listener: socket.socket, seconds: Mapping[str, float], others_seconds: float) -> None:
    while True:
        try:
            gate, _ = listener.accept()
        except OSError:
            return
        place = gate.recv(256).decode().partition(" ")[2]
        # Its end lets the process go on.
        threading.Timer(seconds.get(place, others_seconds), gate.close).start()
