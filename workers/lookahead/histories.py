"""One history for each tenant of each deployment."""

from collections import OrderedDict
from collections.abc import Hashable

from workers.lookahead.history import SharedHistory


class Histories:
    """Keeps the histories of the tenants that asked last, each apart from the others."""

    def __init__(self, capacity_tokens: int, most: int) -> None:
        self._capacity_tokens = capacity_tokens
        self._most = most
        self._kept: OrderedDict[Hashable, SharedHistory] = OrderedDict()

    def __len__(self) -> int:
        return len(self._kept)

    def of(self, deployment: str, tenant: str) -> SharedHistory:
        """Return what one tenant of one deployment has; the longest unused one makes room."""
        name = (deployment, tenant)
        history = self._kept.pop(name, None) or SharedHistory.empty(self._capacity_tokens)
        self._kept[name] = history
        while len(self._kept) > self._most:
            self._kept.popitem(last=False)
        return history
