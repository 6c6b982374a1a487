"""How long an object store is waited for, by who waits."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Patience:
    """A bounded number of tries, with pauses that double."""

    attempts: int
    """Tries in a row that bring no byte before the store is given up."""
    backoff_seconds: float
    """The pause after the first failed try; it doubles with each further one, up to 16 times."""
    silence_seconds: float
    """The longest silence of the store before it counts as gone."""
    upload_seconds: float
    """The longest that one part may take to be taken in: a store is silent until it has it all."""


BUILDS = Patience(attempts=6, backoff_seconds=1.0, silence_seconds=20.0, upload_seconds=180.0)
"""Where an hour of work or a start hangs on it: half a minute of refusals is waited out."""
PAGES = Patience(attempts=2, backoff_seconds=0.5, silence_seconds=5.0, upload_seconds=60.0)
"""Where a person waits for an answer."""
