"""A child's hold on its supervisor: when that is gone, so is the child and all it started."""

import os
import threading

from workers.build_steps.processes import kill_all, of_session

EXIT_ORPHANED = 75


def hold(descriptor: int) -> None:
    """Watch the pipe from a thread; nothing is ever written to it, so a read means it closed."""
    threading.Thread(target=_watch, args=(descriptor,), name="lifeline", daemon=True).start()


def _watch(descriptor: int) -> None:
    while os.read(descriptor, 1):
        pass
    kill_all(of_session(os.getsid(0)), within_seconds=1.0)
    os._exit(EXIT_ORPHANED)
