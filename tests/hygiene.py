"""Runs the fast tests a year from now, in a zone a day ahead of others, with usual ports taken.

`make test-hygiene`. What depends on the day, on the zone or on a port that happened to be free
fails here. Arguments go to pytest; the time is libfaketime's, in every process of the run.
"""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from tests.tiers import ROOT

LIBRARIES = "*/faketime/libfaketimeMT.so.1"
USUAL_PORTS = (3000, 5000, 5432, 6379, 8000, 8001, 8080, 8888, 9000, 9090)
OTHER_TIME = {
    "FAKETIME": "+365d",
    # What measures durations stays as it is: waits would end at once, or never.
    "FAKETIME_DONT_FAKE_MONOTONIC": "1",
    "DONT_FAKE_MONOTONIC": "1",
    # Compiled modules are told by the time of their source's last change.
    "NO_FAKE_STAT": "1",
    "TZ": "Pacific/Kiritimati",
}


def main(arguments: Sequence[str]) -> int:
    """Run them and return pytest's exit status."""
    library = find_library(Path("/usr/lib"))
    if library is None:
        print("libfaketime is not here; on Debian: apt-get install faketime")  # noqa: T201
        return 1
    with ports_taken(USUAL_PORTS):
        return subprocess.run(
            [sys.executable, "-m", "tests.tiers", *arguments],
            cwd=ROOT,
            env=_environment(library),
            check=False,
        ).returncode


def _environment(library: Path) -> dict[str, str]:
    python_path = {"PYTHONPATH": str(Path(__file__).parent / "other_time")}
    return {**os.environ, **OTHER_TIME, **python_path, "LD_PRELOAD": str(library)}


def find_library(folder: Path) -> Path | None:
    """Return the library of the Debian package, for programs with threads."""
    return next(iter(sorted(folder.glob(LIBRARIES))), None)


@contextmanager
def ports_taken(ports: Sequence[int]) -> Iterator[None]:
    """Listen at the ports, but for those where somebody else does so already."""
    with ExitStack() as listening:
        for port in ports:
            listener = listening.enter_context(socket.socket())
            with suppress(OSError):
                listener.bind(("127.0.0.1", port))
                listener.listen()
        yield


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
