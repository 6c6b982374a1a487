"""Starts the process that reads a file, and takes its word or its death."""

import json
import os
import subprocess
import sys
from pathlib import Path

from controlplane.artifacts.failures import ArtifactFailure
from controlplane.calibration_files import problems
from controlplane.calibration_files.found import DISK_FULL_STATUS, Inspection
from controlplane.domain.failures.registry import artifacts

ENDINGS = (".jsonl", ".json", ".parquet", ".txt")
_SECONDS = 120
_SOURCE_ROOT = Path(__file__).resolve().parents[2]
_ALLOWED = ("PATH", "LANG", "LC_ALL", "TZ", "TMPDIR", "VIRTUAL_ENV", "LD_LIBRARY_PATH")


def inspect_file(path: Path, name: str, *, rewritten: Path, limit_bytes: int) -> Inspection:
    """Return what the file called `name` holds. Raises BadFile, and ArtifactFailure on a full disk.

    Its reader is a child with little memory and little time: a damaged file ends that process and
    no other.
    """
    ending = Path(name).suffix.lower()
    if ending not in ENDINGS:
        raise problems.unknown_format(name)
    answer = _ask(path, ending, rewritten, limit_bytes)
    if answer.returncode == DISK_FULL_STATUS:
        raise ArtifactFailure.of(artifacts.DISK_FULL, folder=os.fspath(rewritten.parent))
    if answer.returncode != 0:
        raise problems.crashed(answer.returncode)
    report = json.loads(answer.stdout)
    if "problem" in report:
        raise problems.BadFile(problems.Problem(**report["problem"]))
    return Inspection(**report["found"])


def _ask(
    path: Path, ending: str, rewritten: Path, limit_bytes: int
) -> subprocess.CompletedProcess[bytes]:
    argv = [
        *(sys.executable, "-m", "controlplane.calibration_files", str(path)),
        *("--ending", ending, "--rewritten", str(rewritten)),
        *("--limit-bytes", str(limit_bytes), "--seconds", str(_SECONDS)),
    ]
    try:
        return subprocess.run(
            argv,
            cwd=_SOURCE_ROOT,
            env={name: os.environ[name] for name in _ALLOWED if name in os.environ},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            timeout=_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise problems.too_slow(_SECONDS) from None
