"""Runs the suite again and again in random order while its processes are stopped at random.

`make test-stress`: ROUNDS rounds of the fast tests and of the recovery tests and one of the whole,
or ROUNDS rounds of TESTS; `make test-long` has one of the recovery tests alone. Exit status 1 where
any test failed.
"""

import argparse
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from controlplane.clock import SYSTEM
from controlplane.processes.parent_death import end_with_parent
from tests.stopping import Stopper, adopt_orphans
from tests.tiers import NO_TESTS_COLLECTED, ROOT, SIDE_BY_SIDE

_PYTEST = ("pytest", "-q", "-p", "no:cacheprovider")
FAST = ("tests.tiers", "-p", "no:cacheprovider")
RECOVERY = (*_PYTEST, "-m", "recovery and (not long or e2e)", *SIDE_BY_SIDE)
WHOLE = (*_PYTEST, "-m", "not long", *SIDE_BY_SIDE)
_STOPS_BETWEEN_LOOKS = 10
"""To look for all processes costs as much as to stop some."""


@dataclass(kw_only=True)
class Round:
    """One run of pytest under stress, and what came of it."""

    name: str
    command: Sequence[str]
    seed: int
    log: Path
    status: int = 0
    stops: int = 0
    wall_seconds: float = 0.0
    cpu_seconds: float = 0.0

    @property
    def has_failed(self) -> bool:
        return self.status not in (0, NO_TESTS_COLLECTED)

    def failures(self) -> list[str]:
        """Return pytest's own lines of what failed."""
        return re.findall(r"^(?:FAILED|ERROR) .*", self._said(), re.MULTILINE)

    def told(self) -> str:
        """Return the round in one line."""
        return (
            f"{self.name}: {self._counts()}, {self.stops} stops, seed {self.seed}, "
            f"{self.wall_seconds:.0f} s wall, {self.cpu_seconds:.0f} s CPU, {self.log}"
        )

    def _counts(self) -> str:
        matches = re.findall(r"(\d+ (?:passed|failed|errors?))\b", self._said())
        return ", ".join(matches[-3:]) or f"no result (exit status {self.status})"

    def _said(self) -> str:
        return self.log.read_text(errors="replace")


@dataclass
class Stress:
    """Runs rounds, each with its own seed."""

    seed: int
    folder: Path
    rounds: list[Round] = field(default_factory=list)

    def run(self, name: str, command: Sequence[str]) -> None:
        """Run it once, to its end, and tell how it went."""
        number = len(self.rounds)
        log = self.folder / f"{number}.log"
        this = Round(name=name, command=command, seed=self.seed + number, log=log)
        self.rounds.append(this)
        started = SYSTEM.monotonic()
        with log.open("wb") as output:
            _run_under_stress(this, output.fileno())
        this.wall_seconds = SYSTEM.monotonic() - started
        _say("\n".join([this.told(), *this.failures()]))


def main(arguments: Sequence[str]) -> int:
    """Run all rounds, whatever fails in them, and return 1 where something did."""
    options = _options(arguments)
    adopt_orphans()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    folder = Path(tempfile.mkdtemp(prefix="eh-stress-"))
    stress = Stress(options.seed, folder)
    for name, command in _plan(options.rounds, options.tests, recovery_alone=options.recovery):
        stress.run(name, command)
    failed = [each for each in stress.rounds if each.has_failed]
    _say(f"{len(failed)} of {len(stress.rounds)} runs failed; what they said is in {folder}")
    for each in failed:
        _say("\n".join([f"{each.name}, seed {each.seed}:", *each.failures()]))
    return 1 if failed else 0


def _plan(
    rounds: int, tests: Sequence[str], *, recovery_alone: bool
) -> Iterator[tuple[str, Sequence[str]]]:
    for number in range(1, rounds + 1):
        if tests:
            yield f"round {number}", (*_PYTEST, "-m", "not long", *tests)
            continue
        if not recovery_alone:
            yield f"fast tests, round {number}", FAST
        yield f"recovery tests, round {number}", RECOVERY
    if not (tests or recovery_alone):
        yield "whole", WHOLE


def _run_under_stress(this: Round, output: int) -> None:
    command = [sys.executable, "-m", *this.command, f"--randomly-seed={this.seed}"]
    run = subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
        start_new_session=True, preexec_fn=end_with_parent,
    )  # fmt: skip
    with _ended_with_us(run), Stopper(random.Random(this.seed)) as stopper:
        while not _has_ended(run.pid, this):
            processes = _below(run.pid, stopper)
            for _ in range(_STOPS_BETWEEN_LOOKS):
                _reap_orphan(run.pid)
                stopper.stop_some(processes)
        this.stops = stopper.stops
        run.returncode = this.status


@contextmanager
def _ended_with_us(run: "subprocess.Popen[bytes]") -> Iterator[None]:
    """Let pytest end what it has started where we are told to end."""
    try:
        yield
    finally:
        if run.returncode is None:
            run.send_signal(signal.SIGINT)
            run.wait()


def _below(pid: int, stopper: Stopper) -> list[psutil.Process]:
    """Return everything that runs, but for whoever leads: pytest, which would only tell later."""
    spared = {pid, *stopper.own}
    return [each for each in psutil.Process().children(recursive=True) if each.pid not in spared]


def _has_ended(pid: int, this: Round) -> bool:
    ended, status, used = os.wait4(pid, os.WNOHANG)
    if ended:
        this.status = os.waitstatus_to_exitcode(status)
        this.cpu_seconds = used.ru_utime + used.ru_stime
    return bool(ended)


def _reap_orphan(leader: int) -> None:
    """Let nobody whom we have adopted stay as a zombie, which tests would take for a process."""
    ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    if ended is not None and ended.si_pid != leader:
        os.waitpid(ended.si_pid, 0)


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().getrandbits(31))
    parser.add_argument("--recovery", action="store_true", help="the recovery tests alone")
    parser.add_argument("tests", nargs="*", help="what to run instead, as pytest takes it")
    return parser.parse_args(arguments)


def _say(text: str) -> None:
    print(text, flush=True)  # noqa: T201


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
