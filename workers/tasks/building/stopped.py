"""Why a step ends before it is done."""

from controlplane.domain.failures.raised import RaisedFailure


class StepFailed(RaisedFailure):
    """The failure is the cause."""
