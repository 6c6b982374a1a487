"""The whole main job with a real model: what `make demo` does, twice, on one data folder."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from tests.e2e.installation import OF_THE_TESTS
from tests.waiting import DEADLINE_SECONDS, wait_for

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.timeout(1800),  # a minute and a half of two cores, of which there may be a tenth
]
_ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("demo")


def _environment(folder: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in OF_THE_TESTS}
    return {**kept, "DATA_DIR": str(folder), "PYTHONUNBUFFERED": "1"}


def _processes_of(folder: Path) -> list[str]:
    """Return the command lines of every process that works on the folder."""
    entries = []
    for process in psutil.process_iter():
        try:
            mine = process.environ().get("DATA_DIR") == str(folder)
            words = process.cmdline()
        except (psutil.NoSuchProcess, psutil.AccessDenied, psutil.ZombieProcess):
            continue
        if (mine or str(folder) in " ".join(words)) and process.pid != os.getpid():
            entries.append(" ".join(words))
    return entries


def _once(folder: Path) -> str:
    answer = subprocess.run(
        [sys.executable, "manage.py", "demo", "--once"],
        cwd=_ROOT,
        env=_environment(folder),
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode == 0, answer.stdout[-3000:] + answer.stderr[-3000:]
    return answer.stdout


def _assert_gated_and_emulated(said: str) -> None:
    """The gate's figures are told beside their limit, and who computes in FP8 here."""
    assert "calibrated on 16 samples of enginehouse/general" in said
    assert re.search(r"perplexity: [\d.]+ -> [\d.]+, [+-][\d.]+\s% \(limit \+6\.0\s%\)", said)
    assert re.search(r"logit drift per token: 0\.\d+ nats", said)
    assert "gate passed, on 8 held-out samples" in said
    assert "Emulated on this CPU: FP8 weights of 210 layers" in said


@dataclass(frozen=True, kw_only=True)
class Served:
    """A demonstration that went on serving until Ctrl-C."""

    lines: Sequence[str]
    """What it had said when it served."""
    answer: str
    """What its curl line printed."""
    status: int

    @property
    def said(self) -> str:
        return "\n".join(self.lines)

    def line(self, beginning: str) -> str:
        return next(line for line in self.lines if line.startswith(beginning))


@pytest.fixture(scope="module")
def first_run(folder: Path) -> Served:
    """On a folder of its own; nothing of it runs any more."""
    with subprocess.Popen(
        [sys.executable, "manage.py", "demo"],
        cwd=_ROOT,
        env=_environment(folder),
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            lines = list(_lines_until_it_serves(process))
            answer = _pasted(next(line for line in lines if line.startswith("curl -s")))
            process.send_signal(signal.SIGINT)
            status = process.wait(DEADLINE_SECONDS)
        finally:
            process.kill()
    _wait_until_nothing_runs(folder)
    return Served(lines=lines, answer=answer, status=status)


def _lines_until_it_serves(process: "subprocess.Popen[str]") -> Iterator[str]:
    assert process.stdout is not None
    for line in process.stdout:
        yield line.strip()
        if line.startswith("Serving until"):
            return


def _pasted(curl: str) -> str:
    answer = subprocess.run(["bash", "-c", curl], capture_output=True, text=True, check=True)
    return answer.stdout


def test_the_first_run_builds_deploys_and_answers_and_leaves_nothing_running(
    first_run: Served,
) -> None:
    statement = first_run.said
    assert "Paris" in statement
    assert re.search(r"calibrating \d+ %, \S+\s\w+ left", statement)
    _assert_gated_and_emulated(statement)
    for label in ("Endpoint", "API key", "Dashboard", "Sign in", "curl -s"):
        assert label in statement


def test_the_printed_curl_line_works_and_ctrl_c_stops_everything(
    first_run: Served,
) -> None:
    assert "Paris" in first_run.answer
    link = first_run.line("Sign in").split()[-1]
    assert re.match(r"http://127\.0\.0\.1:\d+/", link)
    assert first_run.status == 0


@pytest.fixture(scope="module")
def second_run(folder: Path, first_run: Served) -> str:
    """What one on the folder of the first said that was to end by itself, and has."""
    statement = _once(folder)
    _wait_until_nothing_runs(folder)
    return statement


@pytest.mark.long
def test_the_second_run_reuses_the_artifact_instead_of_building_it(second_run: str) -> None:
    assert "has it already" in second_run
    assert "Paris" in second_run
    _assert_gated_and_emulated(second_run)
    assert "calibrating" not in second_run
    assert re.search(r"^Answered \d+ s after the start\.$", second_run, re.MULTILINE)


@pytest.mark.long
@pytest.mark.usefixtures("second_run")  # whose folder it is, and which must have ended
def test_a_killed_demonstration_takes_everything_along(folder: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "manage.py", "demo"],
        cwd=_ROOT,
        env=_environment(folder),
        stdout=subprocess.DEVNULL,
    )
    try:
        wait_for(
            lambda: any("workers.agent" in words for words in _processes_of(folder)),
            what="an agent",
        )
    finally:
        process.kill()
        process.wait(DEADLINE_SECONDS)
    _wait_until_nothing_runs(folder)


def _wait_until_nothing_runs(folder: Path) -> None:
    """Processes of processes may be on their way out still when their starter has gone."""
    wait_for(lambda: not _processes_of(folder), what=lambda: _processes_of(folder))
