"""Keeps the gates of processes under test: hears who has come where, and lets them go on."""

import socket
import tempfile
import threading
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Self

import psutil

from tests.waiting import wait_for
from workers.gates import VARIABLE


class Gates:
    """Gates that stand open unless held; give `environment` to the processes that pass them."""

    def __init__(self) -> None:
        # A short path, as those of Unix sockets have to be.
        self._folder = tempfile.TemporaryDirectory(prefix="eh-gates-")
        address = Path(self._folder.name, "gates")
        self.environment: Mapping[str, str] = {VARIABLE: str(address)}
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._listener.bind(str(address))
        self._listener.listen(64)
        self._lock = threading.Lock()
        self._held: set[str] = set()
        self._standing: defaultdict[str, dict[int, socket.socket]] = defaultdict(dict)
        self._came: defaultdict[str, list[int]] = defaultdict(list)
        self._thread = threading.Thread(target=self._keep, name="gates", daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def hold(self, *places: str) -> None:
        """Keep whoever comes there from now on."""
        with self._lock:
            self._held.update(places)

    def let_go(self, *places: str) -> None:
        """Open these gates, and let those who stand there go on."""
        with self._lock:
            self._held.difference_update(places)
            standing = [gate for place in places for gate in self._standing.pop(place, {}).values()]
        for gate in standing:
            _release(gate)

    def let_one_go(self, place: str, pid: int) -> None:
        """Let that process go on; the gate stays closed for those who come."""
        with self._lock:
            gate = self._standing[place].pop(pid)
        _release(gate)

    def came(self, place: str) -> list[int]:
        """Return the processes that have come there so far, in turn."""
        with self._lock:
            return list(self._came[place])

    def standing(self, place: str) -> list[int]:
        """Return the processes that stand there, and have not been killed there."""
        with self._lock:
            return [pid for pid in self._standing[place] if psutil.pid_exists(pid)]

    def wait_for_arrival(self, place: str, *, after: int = 0) -> int:
        """Return the process that came there next, after so many."""
        wait_for(
            lambda: len(self.came(place)) > after,
            what=lambda: f"a process at the gate `{place}`; they came to {dict(self._came)}",
        )
        return self.came(place)[after]

    def close(self) -> None:
        """Let everybody go on, and keep nobody any more."""
        self._listener.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._listener.close()
        self.let_go(*self._held, *list(self._standing))
        self._folder.cleanup()

    def _keep(self) -> None:
        while True:
            try:
                gate, _ = self._listener.accept()
            except OSError:
                return
            pid, _, place = gate.recv(256).decode().partition(" ")
            if pid:
                self._take_in(gate, int(pid), place)
            else:
                gate.close()

    def _take_in(self, gate: socket.socket, pid: int, place: str) -> None:
        with self._lock:
            self._came[place].append(pid)
            if place in self._held:
                self._standing[place][pid] = gate
                return
        _release(gate)


def _release(gate: socket.socket) -> None:
    # Its end is the sign; one that was killed meanwhile does not mind.
    gate.close()
