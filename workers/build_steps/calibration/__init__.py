"""Text to calibrate on: found, pinned, turned into tokens and counted."""

from workers.build_steps.calibration.dataset import OpenDataset, Places
from workers.build_steps.calibration.samples import (
    SEED,
    Sample,
    SampleSet,
    draw,
    draw_unseen,
    sample_keys,
)

__all__ = [
    "SEED",
    "OpenDataset",
    "Places",
    "Sample",
    "SampleSet",
    "draw",
    "draw_unseen",
    "sample_keys",
]
