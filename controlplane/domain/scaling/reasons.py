"""Why a size was chosen, or kept, in a code and a sentence."""

from dataclasses import dataclass
from enum import StrEnum

from controlplane.domain.counted import counted
from controlplane.domain.scaling.formula import Load
from controlplane.domain.scaling.settings import ScalingSettings


class ReasonCode(StrEnum):
    LOAD_ROSE = "load_rose"
    LOAD_FELL = "load_fell"
    WOKEN = "woken"
    SLEEPS = "sleeps"
    BOUNDS = "bounds"
    """A person, or a schedule, moved the least or the most."""
    STEADY = "steady"
    AT_MOST = "at_most"
    WAITS = "waits"
    """The load is low, and has not been so for long enough."""
    AT_EDGE = "at_edge"
    SIGNAL_MISSING = "signal_missing"
    STARTS_FAIL = "starts_fail"


@dataclass(frozen=True, kw_only=True)
class Reason:
    code: ReasonCode
    sentence: str


def need_words(load: Load, by_load: int, settings: ScalingSettings) -> str:
    replicas, window = counted(by_load, "replica"), settings.autoscaling_window
    if settings.target_in_flight_tokens is not None:
        each = f"{settings.target_in_flight_tokens:,}"
        return f"{load.tokens:,.0f} tokens in flight over {window} s: {replicas} for {each} each"
    if not load.requests:
        return f"no request was in flight for {window} s"
    noun = "request" if load.requests == 1 else "requests"
    each = f"{settings.requests_per_replica:g}"
    return f"{load.requests:.4g} {noun} in flight over {window} s: {replicas} for {each} each"
