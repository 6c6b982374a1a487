"""Putting a file of ours into a step's folder without taking its room twice."""

import os
import shutil
from pathlib import Path


def place(source: Path, destination: Path) -> None:
    """Make `destination` a hard link to `source`, or a copy where links do not reach."""
    destination.parent.mkdir(parents=True, exist_ok=True)
    destination.unlink(missing_ok=True)
    try:
        os.link(source, destination)
    except OSError:
        shutil.copyfile(source, destination)
