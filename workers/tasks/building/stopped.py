"""Why a step ends before it is done."""

from controlplane.domain.failures import Failure


class StepFailed(Exception):
    """Carries the cause to show; its text is the cause's sentence."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.sentence)
        self.failure = failure
