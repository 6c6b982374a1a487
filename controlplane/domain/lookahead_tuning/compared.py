"""Speed of answers with lookahead beside that of a held-out share without, chosen by chance."""

from collections.abc import Mapping
from dataclasses import dataclass

LEAST_TOKENS = 200
"""Fewer of either tell no speed."""
LEAST_JUDGED_TOKENS = 2000
"""Fewer of either tell a speed, but not which is the slower: they may be two or three answers."""
SLOWER_RATIO = 0.95
"""Between that and 1 the two are as good as equal."""
COMPARED_SERIES = (
    "drafted_answer_tokens", "drafted_answer_seconds",
    "undrafted_answer_tokens", "undrafted_answer_seconds",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Compared:
    """Tokens a second of one answer, and of how many tokens the fewer were."""

    drafted_per_second: float
    undrafted_per_second: float
    fewest_tokens: float

    @property
    def ratio(self) -> float:
        return self.drafted_per_second / self.undrafted_per_second

    @property
    def is_judged(self) -> bool:
        """Whether there was enough of both to say which is the slower."""
        return self.fewest_tokens >= LEAST_JUDGED_TOKENS

    @property
    def hurts(self) -> bool:
        return self.is_judged and self.ratio < SLOWER_RATIO

    @property
    def sentence(self) -> str:
        """What was measured, without a full stop."""
        return (
            f"answers with lookahead came at {self.drafted_per_second:.1f} tokens a second, those "
            f"of the held-out share without it at {self.undrafted_per_second:.1f}: "
            f"{self.ratio:.2f} times the speed"
        )


def compared_of(sums: Mapping[str, float | None]) -> Compared | None:
    """Return the comparison of sums of `COMPARED_SERIES`; None where too little was counted."""
    tokens, seconds, plain_tokens, plain_seconds = (sums[each] or 0.0 for each in COMPARED_SERIES)
    fewest = min(tokens, plain_tokens)
    if fewest < LEAST_TOKENS or not (seconds and plain_seconds):
        return None
    return Compared(
        drafted_per_second=tokens / seconds,
        undrafted_per_second=plain_tokens / plain_seconds,
        fewest_tokens=fewest,
    )
