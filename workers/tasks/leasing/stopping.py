from typing import Protocol

from celery.worker import state


class Flag(Protocol):
    """What may be set, as an event may."""

    def is_set(self) -> bool: ...


class _Stopping:
    """Set once this worker was told to stop, as Celery notes it.

    Not by its signal `worker_shutting_down`: where anybody receives that, Celery takes a lock in
    its handler of SIGTERM, and a second SIGTERM that comes meanwhile waits for it for ever.
    """

    @staticmethod
    def is_set() -> bool:
        # They hold the exit status, which is 0 where all is well.
        flags = (state.should_stop, state.should_terminate)
        return any(flag is not None and flag is not False for flag in flags)


STOPPING: Flag = _Stopping()
"""The work in hand is then given back at once."""
