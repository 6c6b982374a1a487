"""How old the control plane's last word is: routes and keys hold only so long without one.

Within a process the age goes by the monotonic clock, and so it does from one process to the next
until the host is started anew: nobody sets that clock. Then it goes by the time of day.
"""

import logging
from pathlib import Path

from controlplane.clock import SYSTEM, Clock
from workers.gateway.storage import LastWord, Storage

log = logging.getLogger(__name__)
KEEP_SECONDS = 60.0
"""How much older the word on disk may be."""
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


class Confirmation:
    """Since when the control plane has not said that the routes are current."""

    def __init__(
        self,
        storage: Storage,
        *,
        honour_seconds: float,
        clock: Clock = SYSTEM,
        boot_id: str | None = None,
    ) -> None:
        self._clock = clock
        self._boot_id = boot_id or _BOOT_ID.read_text().strip()
        self._storage = storage
        self._honour_seconds = honour_seconds
        kept = storage.load_confirmation()
        # Without a word on disk, the routes there are of a gateway that kept none.
        age = 0.0 if kept is None else max(0.0, self._age_of(kept))
        self._confirmed_at = clock.monotonic() - age
        self._kept_at = float("-inf") if kept is None else self._confirmed_at
        self._was_expired = False

    @property
    def is_expired(self) -> bool:
        return self._clock.monotonic() - self._confirmed_at > self._honour_seconds

    def confirm(self) -> None:
        self._confirmed_at = self._clock.monotonic()

    def keep(self) -> None:
        """Have the next process know it too, if it is time; the disk may be slow, or full."""
        if self._confirmed_at < self._kept_at + KEEP_SECONDS:
            return
        age = self._clock.monotonic() - self._confirmed_at
        try:
            word = LastWord(self._clock.time() - age, self._boot_id, self._confirmed_at)
            self._storage.save_confirmation(word)
            self._kept_at = self._confirmed_at
        except OSError as error:
            log.debug("the last word of the control plane is not kept: %s", error)

    def _age_of(self, word: LastWord) -> float:
        by_uptime = self._clock.monotonic() - word.uptime_seconds
        if word.boot_id == self._boot_id and by_uptime >= 0:
            return by_uptime
        return self._clock.time() - word.at

    def look(self) -> bool:
        """Return whether the routes hold, and log when that changes."""
        if (is_expired := self.is_expired) != self._was_expired:
            self._was_expired = is_expired
            if is_expired:
                hours = self._honour_seconds / 3600
                log.error(
                    "the control plane has not confirmed routes and keys for %g hours "
                    "(GATEWAY_ROUTES_HOURS): requests are refused until it does",
                    hours,
                )
            else:
                log.warning("the control plane has confirmed routes and keys: serving again")
        return not is_expired
