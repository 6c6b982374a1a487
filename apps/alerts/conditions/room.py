"""How much room a folder's disk has; a network's disk that is away holds nobody up."""

import os
import threading
from pathlib import Path

ANSWER_SECONDS = 0.2


class Room:
    """Looks on a thread of its own: the disk of a server that is gone never answers."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._free_bytes: int | None = None
        self._device: int | None = None
        self._looking: threading.Thread | None = None
        self._beginning = threading.Lock()

    def look(self) -> tuple[int | None, int | None]:
        """Return the disk and what is free on it, as last known; None where nothing is."""
        self._begun().join(ANSWER_SECONDS)
        return self._device, self._free_bytes

    def _begun(self) -> threading.Thread:
        with self._beginning:  # nobody joins what another thread has yet to start
            if self._looking is None or not self._looking.is_alive():
                self._looking = threading.Thread(target=self._look, name="room", daemon=True)
                self._looking.start()
            return self._looking

    def _look(self) -> None:
        try:
            disk = os.statvfs(self._folder)
            self._device = self._folder.stat().st_dev
        except OSError:
            self._free_bytes = None
        else:
            self._free_bytes = disk.f_bavail * disk.f_frsize
