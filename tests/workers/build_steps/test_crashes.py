"""Failures that name a task, and the machine that had no room while it was done."""

import errno

import pytest

from workers.build_steps.crashes import told_apart
from workers.build_steps.failures import StepFailure
from workers.build_steps.gating.tasks.harness import explained

ON_A_GPU = (
    "CUDA out of memory. Tried to allocate 384.00 MiB. GPU 0 has a total capacity of 39.56 GiB of "
    "which 359.62 MiB is free."
)
ON_THE_HOST = "DefaultCPUAllocator: can't allocate memory: you tried to allocate 99 bytes."
FULL = OSError(errno.ENOSPC, "No space left on device")


def wrapped(cause: Exception) -> Exception:
    error = RuntimeError("An error occurred while generating the dataset")
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (RuntimeError(ON_A_GPU), "EHQ-CARD-MEMORY"),
        (RuntimeError(ON_THE_HOST), "EHB-ALLOCATION"),
        (FULL, "EHB-DISK-FULL"),
        (wrapped(FULL), "EHB-DISK-FULL"),
        (RuntimeError("'question' is undefined"), "EHG-TASK-BROKEN"),
        (OSError("the hub answers 401"), "EHG-TASK-DATA"),
        (ConnectionError("Connection refused"), "EHG-TASK-DATA"),
    ],
)
def test_a_task_is_not_blamed_for_what_the_machine_ran_out_of(error: Exception, code: str) -> None:
    with pytest.raises(StepFailure) as raised, explained("mine"):
        raise error
    failure = told_apart(raised.value.failure, raised.value.__cause__, "gate", {})
    assert failure.code == code
