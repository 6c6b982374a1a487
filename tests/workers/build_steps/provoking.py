"""What is made of the traceback of something that must fail."""

import traceback
from collections.abc import Callable
from typing import Any

import pytest

from controlplane.domain.failures import Failure
from tests.workers.build_steps.supervising import spec_of
from workers.build_steps.crashes import explain_crash

REPO = "org/m"


def explained(
    act: Callable[[], Any], printed: Callable[[], str] = str, *, step: str = "calibrate"
) -> Failure:
    """Explain the traceback of `act`, after what was printed, as that of a dead process."""
    try:
        act()
    except Exception:  # whatever a library raises is what is explained
        text = printed() + traceback.format_exc()
    else:
        pytest.fail("nothing failed")
    return explain_crash(f"Step `{step}`", 1, text, spec=spec_of(REPO, "HF"))
