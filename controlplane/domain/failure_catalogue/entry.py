"""The shape of one line of the catalogue."""

from collections.abc import Sequence
from dataclasses import dataclass

from controlplane.domain.failures import Blame

CONFIGURATION, CHECKPOINT = Blame.CONFIGURATION, Blame.CHECKPOINT
MACHINE, OURS = Blame.MACHINE, Blame.OURS
SOURCES = ("EHF", "EHL", "ES3", "EGC", "EAZ", "EUR")
"""How codes of checkpoint sources begin: hub, local folder, S3, Google, Azure, address."""
BUCKETS = ("ES3", "EGC", "EAZ")


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One meaning, under one code or under the same one of several sources."""

    codes: tuple[str, ...]
    blame: Blame
    meaning: str
    remedy: str


def entry(code: str, blame: Blame, meaning: str, remedy: str) -> Entry:
    """Return the line of one code."""
    return Entry(codes=(code,), blame=blame, meaning=meaning, remedy=remedy)


def entry_of(prefixes: Sequence[str], name: str, blame: Blame, meaning: str, remedy: str) -> Entry:
    """Return the line of a code that several sources have."""
    codes = tuple(f"{prefix}-{name}" for prefix in prefixes)
    return Entry(codes=codes, blame=blame, meaning=meaning, remedy=remedy)
