"""Programs of Debian that tests drive, and that `make test` installs where it has the right to."""

import os
import shutil

import pytest


def program(package: str, *other_names: str) -> str:
    """Return the path of a program; skip the test where `make` may not install it."""
    for name in (package, *other_names):
        if path := shutil.which(name):
            return path
    if os.geteuid() == 0 and shutil.which("apt-get"):
        pytest.fail(f"{package} is missing: run `make chromium`, which installs it")
    pytest.skip(f"{package} is missing, and only root may install it: apt-get install {package}")
