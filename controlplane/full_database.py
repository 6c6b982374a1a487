"""That PostgreSQL has no room on its disk: whoever meets it says so, and it is told for a while."""

from controlplane.clock import SYSTEM, Clock

SENTENCE = "The disk of the database is full: nothing can be stored until there is room."
HINT = "Free space on the disk that holds PostgreSQL's data."
TOLD_SECONDS = 60.0
_DISK_FULL = "53100"
"""Of PostgreSQL's appendix of error codes."""


class FullDatabase:
    def __init__(self, *, clock: Clock = SYSTEM) -> None:
        self._clock = clock
        self._met_at: float | None = None

    def is_cause_of(self, error: BaseException | None) -> bool:
        """Return whether the error, as Django or psycopg raised it, says so; it is remembered."""
        codes = {
            getattr(each, "sqlstate", None) for each in (error, getattr(error, "__cause__", 0))
        }
        if _DISK_FULL not in codes:
            return False
        self._met_at = self._clock.monotonic()
        return True

    @property
    def was_met_lately(self) -> bool:
        """Whether it is likely to be so still."""
        met_at = self._met_at
        return met_at is not None and self._clock.monotonic() - met_at < TOLD_SECONDS


FULL_DATABASE = FullDatabase()
