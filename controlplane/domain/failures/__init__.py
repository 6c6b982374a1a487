"""Failures as data: the registry of all kinds, and what the end of a log means."""

from controlplane.domain.failures.failure import Blame, Failure

__all__ = ["Blame", "Failure"]
