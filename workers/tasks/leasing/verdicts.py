"""What the holder of a lease tells the process that works for it."""

from workers.build_steps.child import Verdict
from workers.tasks.leasing.keeper import LeaseStatus

_VERDICTS = {LeaseStatus.HELD: Verdict.CONTINUE, LeaseStatus.CANCEL: Verdict.CANCEL}


def verdict_of(status: LeaseStatus) -> Verdict:
    """Return whether it goes on; a worker that is being stopped drops it as a lost lease does."""
    return _VERDICTS.get(status, Verdict.LOST)
