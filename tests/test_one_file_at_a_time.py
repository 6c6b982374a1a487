"""A run of pytest's own over several processes, of a folder with files that differ."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tiers import ROOT, SIDE_BY_SIDE

pytestmark = pytest.mark.process

_CONFTEST = """
import os, pathlib, pytest
from tests import side_by_side

def pytest_configure(config):
    config.pluginmanager.register(side_by_side)

@pytest.fixture(scope="session")
def server():
    with pathlib.Path("servers").open("a") as servers:
        print(os.getpid(), file=servers)
"""
_FILE = """
import pathlib
with pathlib.Path("imported").open("a") as imported:
    print(__name__, file=imported)
import pytest
from tests.one_file_at_a_time import items_at_work

@pytest.mark.parametrize("each", range(3))
def test_passes(each, server, request):
    assert {item.module.__name__ for item in items_at_work(request.session)} == {__name__}
"""
_DESELECTED = "import pytest\n@pytest.mark.slow\ndef test_slow(): pass\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = slow\n")
    (tmp_path / "conftest.py").write_text(_CONFTEST)
    for name in ("a", "b", "c", "d", "e", "f"):
        (tmp_path / f"test_{name}.py").write_text(_FILE)
        (tmp_path / f"test_{name}_slow.py").write_text(_DESELECTED)
    return tmp_path


def test_each_file_is_imported_once_and_what_a_session_has_made_stands_between_them(
    folder: Path,
) -> None:
    (folder / "test_broken.py").write_text("raise RuntimeError('not today')\n")
    (folder / "test_failing.py").write_text("def test_fails(): assert 1 == 2\n")

    status, statement = _run(folder, processes=2)

    assert status == 1
    assert "1 failed, 18 passed, 1 error" in statement, statement
    assert "RuntimeError: not today" in statement
    assert "assert 1 == 2" in statement
    assert sorted(_lines(folder, "imported")) == [f"test_{each}" for each in "abcdef"]
    assert len(set(_lines(folder, "servers"))) == len(_lines(folder, "servers")) <= 2
    assert max(map(int, re.findall(r"\[ *(\d+)%\]", statement))) == 100


def test_a_run_without_any_test_says_so(folder: Path) -> None:
    for file in folder.glob("test_?.py"):
        file.unlink()

    assert _run(folder, processes=1)[0] == pytest.ExitCode.NO_TESTS_COLLECTED


def _run(folder: Path, *, processes: int) -> tuple[int, str]:
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-m", "not slow", *SIDE_BY_SIDE,
         "-n", str(processes),
         "-p", "no:django", "-p", "no:schemathesis", "-p", "no:valkey"],
        cwd=folder, env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    return ran.returncode, ran.stdout + ran.stderr


def _lines(folder: Path, name: str) -> list[str]:
    return (folder / name).read_text().splitlines()
