"""How far the clocks of other hosts are from the database's, as what they send tells."""

from controlplane import clock
from controlplane.domain.skew import noticed

_MOST_SECONDS = 2**31 - 1
"""As the column holds it; some 68 years."""


def clock_ahead(*, sent_at: float | None) -> int:
    """Return by how many seconds the sender's clock is ahead; 0 where it says none, or as good."""
    if sent_at is None:
        return 0
    ahead = noticed(sent_at - clock.now().timestamp())
    return max(-_MOST_SECONDS, min(ahead, _MOST_SECONDS))
