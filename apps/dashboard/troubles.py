"""What is wrong with the machines that all teams share, and what to do about it."""

from collections.abc import Sequence
from dataclasses import dataclass

from apps.fleet.selectors import clocks_apart
from controlplane.domain.skew import skew_words


@dataclass(frozen=True, kw_only=True)
class Trouble:
    """One of them, in a sentence."""

    code: str
    sentence: str


def troubles() -> Sequence[Trouble]:
    """Return those that are there now."""
    return [_of_clock(*each) for each in clocks_apart()]


def _of_clock(kind: str, name: str, ahead_seconds: int) -> Trouble:
    sentence = (
        f"The clock of {kind} `{name}` is {skew_words(ahead_seconds)}{' of' * (ahead_seconds > 0)} "
        f"the database's. {_IN_SPITE[kind]}Set the clock of that host (NTP)."
    )
    return Trouble(code="clock_apart", sentence=sentence)


_IN_SPITE = {"gateway": "Usage is counted in its right minutes all the same. ", "node": ""}
