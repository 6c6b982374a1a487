"""Several processes of pytest run each test of a run once, a file at a time."""

import sys
from pathlib import Path

import pytest

from tests import shared_run
from tests.tiers import ROOT

FILES = 6
_CONFTEST = '''
import os
from pathlib import Path

import pytest

from tests.shared_run import FOLDER_VARIABLE, SharedRun

@pytest.fixture(scope="session", params="ab")
def shared(request):
    """Puts the tests with the same parameter together, whatever their files."""

def pytest_configure(config):
    config.pluginmanager.register(SharedRun(Path(os.environ.pop(FOLDER_VARIABLE)), dict))
'''
_TESTS = """
import os
from pathlib import Path

import pytest

@pytest.mark.parametrize("each", range(3))
def test_one(each, shared):
    with (Path(__file__).parent / "ran").open("a") as ran:
        ran.write(f"{{Path(__file__).name}} {{each}} {{os.getpid()}}\\n")
    assert not ({fails} and each == 1)
"""


def test_each_test_runs_once_and_those_of_a_file_together(tmp_path: Path) -> None:
    status, told = _run(tmp_path, failing=set())
    ran = [line.split() for line in (tmp_path / "ran").read_text().splitlines()]
    assert sorted((file, each) for file, each, _ in ran) == [
        (f"test_{file}.py", str(each)) for file in range(FILES) for each in (0, 0, 1, 1, 2, 2)
    ]
    assert len({(file, process) for file, _, process in ran}) == FILES
    assert status == 0
    assert len(told) == 2
    assert shared_run.totals(told, "ended")["passed"] == FILES * 6


def test_a_failure_of_any_process_is_the_runs(tmp_path: Path) -> None:
    # One in each file, so that whoever takes one fails.
    status, told = _run(tmp_path, failing={*range(FILES)})
    assert status == 1
    assert shared_run.totals(told, "ended") == {
        "passed": FILES * 4, "failed": FILES * 2, "error": 0, "skipped": 0,
    }  # fmt: skip


def test_what_cannot_be_collected_is_said_and_nothing_runs(tmp_path: Path) -> None:
    (tmp_path / "test_broken.py").write_text("import nothing_of_that_name\n")
    status, _told = _run(tmp_path, failing=set())
    assert status != 0
    assert not (tmp_path / "ran").exists()


def test_tests_that_nobody_ran_fail_the_run(capsys: pytest.CaptureFixture[str]) -> None:
    left = [{"collected": 5, "ran": 2}, {"collected": 5, "ran": 2}]
    assert shared_run.status_of(left) == 1
    assert "1 tests" in capsys.readouterr().out


def _run(folder: Path, *, failing: set[int]) -> tuple[int, list[dict[str, object]]]:
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / "conftest.py").write_text(_CONFTEST)
    for number in range(FILES):
        (folder / f"test_{number}.py").write_text(_TESTS.format(fails=number in failing))
    command = [sys.executable, "-m", "pytest", "-q", "-c", str(folder / "pytest.ini")]
    # Without the other plugins, which take longer than the tests.
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
        quick = ["--import-mode=importlib", "-p", "pytest_randomly"]
        return shared_run.run([*command, *quick, str(folder)], processes=2, cwd=ROOT)
