from collections.abc import Sequence


class StopStrings:
    """Holds back what may be the start of a stop string, and cuts at the first one."""

    def __init__(self, stops: Sequence[str]) -> None:
        self._stops = tuple(stops)
        self._pending = ""
        self.matched: str | None = None

    def push(self, text: str) -> str:
        """Take a piece of text; give back what can no longer be part of a stop string."""
        window = self._pending + text
        matches = [(at, stop) for stop in self._stops if (at := window.find(stop)) >= 0]
        if matches:
            at, self.matched = min(matches, key=lambda match: match[0])
            self._pending = ""
            return window[:at]
        keep = self._longest_start(window)
        self._pending = window[len(window) - keep :]
        return window[: len(window) - keep]

    def flush(self) -> str:
        """Give back what was held when no stop string came after all."""
        text, self._pending = self._pending, ""
        return text

    def _longest_start(self, window: str) -> int:
        """Length of the longest end of `window` with which a stop string begins."""
        longest = max((len(stop) - 1 for stop in self._stops), default=0)
        for length in range(min(longest, len(window)), 0, -1):
            if window.endswith(tuple(s[:length] for s in self._stops if len(s) > length)):
                return length
        return 0
