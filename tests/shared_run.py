"""One run of tests by several processes of pytest: each takes the next file that nobody has taken.

All of them collect the same tests in the same order, and each tells of its own. pytest-xdist starts
one process more, which receives and tells every report: ten CPU seconds for the fast tests.
"""

import json
import os
import random
import signal
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

ENDS = ("passed", "failed", "error", "skipped")
FOLDER_VARIABLE = "TESTS_SHARED_IN"
"""Names the folder through which the processes of one run know of each other."""


def run(command: Sequence[str], *, processes: int, cwd: Path) -> tuple[int, list[dict[str, Any]]]:
    """Return the first exit status that is not 0, else 0, and what each process has left.

    The first one's output is seen at once, the others' when all have ended.
    """
    with tempfile.TemporaryDirectory(prefix="eh-run-") as folder:
        # One order for all; an order that was asked for comes later on the line, and wins.
        seed = f"--randomly-seed={random.SystemRandom().getrandbits(31)}"
        place = command.index("pytest") + 1
        shared = [*command[:place], seed, "-o", "console_output_style=classic", *command[place:]]
        environment = {**os.environ, FOLDER_VARIABLE: folder}
        statuses = _run_all(shared, processes, cwd, environment, Path(folder))
        left = [json.loads(each.read_text()) for each in sorted(Path(folder).glob("*.json"))]
    return next((each for each in statuses if each), status_of(left)), left


def totals(left: Sequence[Mapping[str, Any]], name: str) -> Counter[str]:
    """Return the sums of what the processes have left by that name."""
    found: Counter[str] = Counter()
    for each in left:
        found.update(each[name])
    return found


class SharedRun:
    """A pytest plugin that runs, of all tests, those of the files that this process takes.

    At the end it leaves how many tests ended how, and what `told` returns.
    """

    def __init__(self, folder: Path, told: Callable[[], Mapping[str, Any]]) -> None:
        self._folder = folder
        self._told = told
        self._ran = self._collected = 0

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        if session.testsfailed or session.config.option.collectonly:
            return None  # pytest's own loop says what is wrong
        self._collected = len(session.items)
        for item, following in _with_following(self._taken(session.items)):
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            self._ran += 1
            if session.shouldstop or session.shouldfail:
                raise session.Interrupted(session.shouldstop or session.shouldfail)
        return True

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        ended = {how: len(terminalreporter.stats.get(how, [])) for how in ENDS}
        left = {"ended": ended, "ran": self._ran, "collected": self._collected, **self._told()}
        (self._folder / f"{os.getpid()}.json").write_text(json.dumps(left))

    def _taken(self, items: Sequence[pytest.Item]) -> Iterator[pytest.Item]:
        # Not all of a file's come in a row: pytest puts those together that share a parameter.
        ours: dict[str, bool] = {}
        for item in items:
            file = item.nodeid.split("::")[0]
            if file not in ours:
                ours[file] = self._take(file)
            if ours[file]:
                yield item

    def _take(self, file: str) -> bool:
        with suppress(FileExistsError):
            (self._folder / file.replace("/", ",")).touch(exist_ok=False)
            return True
        return False


def status_of(left: Sequence[Mapping[str, Any]]) -> int:
    """Return 1, having said so, where the processes together ran fewer than each collected."""
    missing = max((each["collected"] for each in left), default=0) - sum(
        each["ran"] for each in left
    )
    if missing:
        print(f"{missing} tests were run by nobody")  # noqa: T201
    return 1 if missing else 0


def _with_following(
    items: Iterator[pytest.Item],
) -> Iterator[tuple[pytest.Item, pytest.Item | None]]:
    """Return each with the next, and so look for a further file before the last test of one."""
    item = next(items, None)
    while item is not None:
        following = next(items, None)
        yield item, following
        item = following


def _run_all(
    command: Sequence[str], processes: int, cwd: Path, environment: Mapping[str, str], folder: Path
) -> list[int]:
    logs = [folder / f"{number}.log" for number in range(1, processes)]
    others = [_start_other(command, cwd, environment, log) for log in logs]
    try:
        first = subprocess.run(command, cwd=cwd, env=environment, check=False).returncode
    except KeyboardInterrupt:
        for each in others:
            each.send_signal(signal.SIGINT)  # as a terminal does to all, and `kill` to us alone
        raise
    finally:
        statuses = [each.wait() for each in others]
        for log in logs:
            print(log.read_text(errors="replace"), end="", flush=True)  # noqa: T201
    return [first, *statuses]


def _start_other(
    command: Sequence[str], cwd: Path, environment: Mapping[str, str], log: Path
) -> "subprocess.Popen[bytes]":
    with log.open("wb") as output:
        return subprocess.Popen(
            command, cwd=cwd, env=environment, stdin=subprocess.DEVNULL,
            stdout=output, stderr=output,
        )  # fmt: skip
