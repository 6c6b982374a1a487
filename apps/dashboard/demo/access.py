"""A way in: an API key and a one-time sign-in link, made where the database is."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from apps.dashboard.demo.failure import DemoFailed
from apps.dashboard.demo.machine import MANAGE


@dataclass(frozen=True, kw_only=True)
class Access:
    api_key: str
    sign_in_link: str


def grant_access(data_dir: Path) -> Access:
    """Return a fresh key, which takes the place of the last demonstration's, and a fresh link."""
    # A process of its own: the settings of this one were read before the database had an address.
    answer = subprocess.run(
        [sys.executable, MANAGE, "demo_access"],
        env={**os.environ, "DATA_DIR": str(data_dir)},
        capture_output=True,
        text=True,
        check=False,
    )
    if answer.returncode:
        raise DemoFailed(f"No API key could be made: {answer.stderr.strip().splitlines()[-1]}")
    return Access(**json.loads(answer.stdout.splitlines()[-1]))
