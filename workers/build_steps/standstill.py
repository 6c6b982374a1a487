"""Where a drill catches a step: the step stands still for as long as a file tells it to.

A drill that has so many seconds to do harm comes too late on a busy machine.
"""

import os
import time
from pathlib import Path

from workers.build_steps.environment import HOLDS_VARIABLE

SAMPLES = "samples"
"""The place in the middle of calibration, after each batch; the others are the steps' names."""
_PAUSE_SECONDS = 0.02


def stand_still(place: str) -> None:
    """Return once no file of that name lies in the folder that the environment names, if any."""
    folder = os.environ.get(HOLDS_VARIABLE)
    while folder and Path(folder, place).exists():
        time.sleep(_PAUSE_SECONDS)
