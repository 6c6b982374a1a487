"""`manage.py up`: refuses what it cannot do with one sentence, and works with servers elsewhere."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from controlplane.processes.single import hold_data_dir

_ROOT = Path(__file__).resolve().parents[3]
_OURS = {"DATABASE_URL", "BROKER_URL", "ARTIFACT_URL", "DATA_DIR", "LOCAL_CHECKPOINT_ROOTS"}


def _up(folder: Path, **environment: str) -> "subprocess.CompletedProcess[str]":
    kept = {name: value for name, value in os.environ.items() if name not in _OURS}
    return subprocess.run(
        [sys.executable, "manage.py", "up"],
        cwd=_ROOT,
        env={**kept, "DATA_DIR": str(folder), **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_a_second_start_on_the_same_folder_is_refused(tmp_path: Path) -> None:
    with hold_data_dir(tmp_path):
        answer = _up(tmp_path)
    assert answer.returncode == 1
    assert f"Enginehouse already runs on {tmp_path}" in answer.stderr


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("DATABASE_URL", "sqlite:///here.db", "runs on PostgreSQL alone"),
        ("ARTIFACT_URL", "s3://bucket/artifacts", "not supported in this release"),
        ("PUBLIC_URL", "example.org", "`example.org` is not one of"),
        ("WEB_PORT", "eighty", "`eighty` is not a whole number"),
        ("DEBUG", "maybe", "`maybe` is neither true nor false"),
        ("ENGINE_CPU_THREADS", "-2", "`-2` is below 0"),
        ("SECRET_KEY_FILE", "/does/not/exist", "cannot be read"),
        ("SECRET_KEY", "short", "shorter than 32 characters"),
    ],
)
def test_a_wrong_setting_stops_the_start_and_names_the_variable(
    tmp_path: Path, name: str, value: str, words: str
) -> None:
    answer = _up(tmp_path, **{name: value})
    assert answer.returncode != 0
    last = answer.stderr.strip().splitlines()[-1]
    assert name in last
    assert words in last
    assert "Traceback" not in answer.stderr
