"""The base of exceptions that carry a failure to show."""

from typing import Any, Self

from controlplane.domain.failures.failure import Failure
from controlplane.domain.failures.kind import FailureKind


class RaisedFailure(Exception):
    """Its text is the failure's sentence."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.sentence)
        self.failure = failure

    @classmethod
    def of(cls, kind: FailureKind, /, **values: Any) -> Self:
        return cls(kind.failure(**values))
