"""What a benchmark is to do, as its row keeps it and its process reads it."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

from pydantic import BaseModel, ConfigDict

from controlplane.domain.benchmarks.shapes import Kind

LONGEST_SECONDS = 3600
"""Of a whole run by its plan: all levels of all deployments."""
MOST_LEVELS = 12
MOST_CONCURRENCY = 4096
MOST_RATE = 10_000.0


class LoadKind(StrEnum):
    CONCURRENCY = "concurrency"
    """So many requests at a time: the next is sent when one has ended."""
    RATE = "rate"
    """So many requests a second, whatever the answers do."""

    @property
    def unit(self) -> str:
        return "requests at a time" if self is LoadKind.CONCURRENCY else "requests/s"


class _Kept(BaseModel):
    model_config = ConfigDict(frozen=True)


class Load(_Kept):
    """How hard: levels one after another, or a search for the highest that keeps the limits."""

    kind: LoadKind
    levels: tuple[float, ...]
    """For a ramp: where it begins, and the most that it tries."""
    is_ramp: bool = False
    seconds: float = 30.0
    """Measured at each level."""
    warm_up_seconds: float = 5.0
    """Before that, at the same level and left out of every figure."""

    @property
    def longest_seconds(self) -> float:
        """How long one deployment takes by plan."""
        count = MOST_LEVELS if self.is_ramp else len(self.levels)
        return count * (self.seconds + self.warm_up_seconds)


class Limits(_Kept):
    """What a load must keep to count as carried; None for what does not matter."""

    error_share: float | None = None
    first_token_p90_seconds: float | None = None
    inter_token_p90_seconds: float | None = None
    end_to_end_p90_seconds: float | None = None

    @property
    def is_any(self) -> bool:
        return any(value is not None for value in dict(self).values())


class Sample(_Kept):
    """One request of a run's own lines, or the lengths of one."""

    prompt: str | None = None
    messages: tuple[Mapping[str, Any], ...] | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


class Lengths(_Kept):
    """How long requests are where no samples say it."""

    prompt_tokens: int
    completion_tokens: int = 0
    shared_tokens: int = 0
    texts: int = 1
    is_code: bool = False


class Target(_Kept):
    label: str
    url: str
    route: str
    """The engine's own, that is asked below `url`."""
    kind: Kind
    model: str
    """The name that its engine answers to."""


class BenchmarkOrder(_Kept):
    """Everything that the process of a benchmark needs but its key."""

    targets: Sequence[Target]
    lengths: Lengths | None = None
    samples: Sequence[Sample] = ()
    load: Load
    limits: Limits = Limits()
    seed: int = 0
    request_seconds: float = 120.0
    """After which a request counts as failed."""
