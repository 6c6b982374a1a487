import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.gates import Gates
from tests.manual_clock import ManualClock
from tests.waiting import DEADLINE_SECONDS, wait_for
from tests.workers.build_steps.supervising import (
    Packaged,
    Supervisor,
    spec_of,
)
from workers.build_steps.child import OutcomeKind, StepCommand, StepOutcome, Verdict
from workers.build_steps.processes import environment

pytestmark = pytest.mark.process

ROOT = Path(__file__).resolve().parents[3]
GRACE_SECONDS = 3.0
Heartbeat = Callable[[], Verdict]
SECRET = "hf_ThisIsTheSecretValue0123456789"


class WatchedClock(ManualClock):
    """Counts how often it was looked at, and so tells that somebody goes on."""

    def __init__(self) -> None:
        super().__init__()
        self._looks = 0

    def monotonic(self) -> float:
        self._looks += 1
        return super().monotonic()

    def wait_for_looks(self, count: int) -> None:
        before = self._looks
        wait_for(lambda: self._looks >= before + count, what=f"{count} looks at the clock")


@contextmanager
def running(
    supervisor: Supervisor, command: StepCommand, heartbeat: Heartbeat, clock: ManualClock
) -> Iterator[Future[StepOutcome]]:
    """A step that is supervised by a clock that stands still, and ends with the block."""
    with ThreadPoolExecutor(1) as pool:
        try:
            yield pool.submit(supervisor.run, command, heartbeat, clock=clock)
        finally:
            clock.advance(3600)


def script(folder: Path, body: str) -> str:
    """Return an executable that stands where the step's interpreter would."""
    path = folder / "step.sh"
    path.write_text(f"#!/bin/bash\n{body}\n")
    path.chmod(0o755)
    return str(path)


def test_a_step_reports_progress_a_log_and_its_result(supervisor: Supervisor, tiny: Path) -> None:
    command = supervisor.command("fetch", supervisor.job("fetch", spec_of(str(tiny))))
    outcome = supervisor.run(command)
    assert outcome.kind is OutcomeKind.FINISHED, outcome
    assert outcome.values is not None
    assert outcome.values["commit"].startswith("local-")
    last = supervisor.progress[-1]
    assert (last.done, last.total, last.unit) == (outcome.values["bytes"],) * 2 + ("bytes",)
    assert b"fetched and verified" in supervisor.log
    assert supervisor.beats >= 1


def test_a_failure_comes_back_as_the_step_said_it(supervisor: Supervisor) -> None:
    command = supervisor.command("fetch", supervisor.job("fetch", spec_of("/etc")))
    outcome = supervisor.run(command)
    assert outcome.kind is OutcomeKind.FAILED
    assert outcome.exit_code == 1
    assert outcome.failure is not None
    assert outcome.failure.code == "EHL-OUTSIDE-ROOTS"


def test_secrets_reach_the_step_and_neither_argv_nor_environment(
    supervisor: Supervisor, tmp_path: Path
) -> None:
    body = f"""
        while [ $# -gt 0 ]; do [ "$1" = --secrets-fd ] && fd=$2; shift; done
        cat <&$fd > {tmp_path}/received
        echo "leaking {SECRET} to the log"
        sleep 60"""
    command = supervisor.command(
        "fetch",
        tmp_path / "none.json",
        secrets={"hf_access_token": SECRET},
        python=script(tmp_path, body),
    )
    seen: list[str] = []

    def look_then_cancel() -> Verdict:
        if not (tmp_path / "received").exists() or b"leaking" not in supervisor.log:
            return Verdict.CONTINUE
        for each in supervisor.marked():
            seen.append(Path(f"/proc/{each.pid}/cmdline").read_text() + str(environment(each.pid)))
        return Verdict.CANCEL

    supervisor.run(command, look_then_cancel)
    assert json.loads((tmp_path / "received").read_text()) == {"hf_access_token": SECRET}
    assert seen
    assert not any(SECRET in each for each in seen)
    assert SECRET not in repr(command)
    assert SECRET.encode() not in supervisor.log
    assert b"[redacted]" in supervisor.log


def test_the_login_to_the_store_reaches_the_step_as_secrets_do(
    supervisor: Supervisor, tmp_path: Path
) -> None:
    login = {"AWS_ACCESS_KEY_ID": "AKIA1", "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_REGION": "x-1"}
    body = f"""
        for each in "$@"; do echo "$each"; done > {tmp_path}/argv
        env > {tmp_path}/env
        while [ $# -gt 0 ]; do [ "$1" = --store-fd ] && fd=$2; shift; done
        cat <&$fd > {tmp_path}/received
        echo leaking {SECRET} of x-1 to the log"""
    command = supervisor.command(
        "package",
        tmp_path / "none.json",
        store_variables=login,
        python=script(tmp_path, body),
    )
    supervisor.run(command)
    assert json.loads((tmp_path / "received").read_text()) == login
    for report in ("argv", "env"):
        assert SECRET not in (tmp_path / report).read_text()
    assert SECRET not in repr(command)
    assert b"leaking [redacted] of x-1" in supervisor.log


def test_the_environment_is_an_allow_list(
    supervisor: Supervisor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("SECRET_KEY", "DATABASE_URL", "HF_TOKEN", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "must-not-travel")
    command = supervisor.command(
        "fetch", tmp_path / "none.json", python=script(tmp_path, f"env > {tmp_path}/env")
    )
    supervisor.run(command)
    text = (tmp_path / "env").read_text()
    assert "must-not-travel" not in text
    assert f"ENGINEHOUSE_LEASE={supervisor.lease}" in text
    assert "PATH=" in text


def test_a_cancel_asks_politely_at_once_and_kills_the_deaf_when_their_grace_is_over(
    supervisor: Supervisor, tmp_path: Path
) -> None:
    clock, up, request = WatchedClock(), tmp_path / "up", tmp_path / "asked"
    # One grandchild in the session, one in a session of its own; both deaf to the polite signal.
    body = f"""
        trap '' TERM
        sleep 600 &
        setsid sleep 600 &
        trap 'touch {request}' TERM
        touch {up}
        while :; do wait; done"""
    command = supervisor.command("fetch", tmp_path / "x.json", python=script(tmp_path, body))

    def cancel_when_up() -> Verdict:
        wait_for(lambda: up.exists() and len(supervisor.marked()) == 3, what="all three processes")
        return Verdict.CANCEL

    with running(supervisor, command, cancel_when_up, clock) as outcome:
        wait_for(request.exists, what="the polite signal")
        clock.advance(GRACE_SECONDS - 0.5)
        clock.wait_for_looks(6)
        assert len(supervisor.marked()) == 3
        clock.advance(0.5)
        ended = outcome.result(DEADLINE_SECONDS)
    assert ended.kind is OutcomeKind.CANCELLED
    assert ended.exit_code == -signal.SIGKILL
    assert supervisor.marked() == []


def test_a_step_that_is_cancelled_in_the_middle_needs_no_grace(
    supervisor: Supervisor, tiny: Path, gates: Gates
) -> None:
    gates.hold("fetch")
    job = supervisor.job("fetch", spec_of(str(tiny)))
    command = supervisor.command("fetch", job, environment=gates.environment)

    def cancel_once_it_works() -> Verdict:
        gates.wait_for_arrival("fetch")
        return Verdict.CANCEL

    outcome = supervisor.run(command, cancel_once_it_works, clock=ManualClock())
    assert outcome.kind is OutcomeKind.CANCELLED
    assert outcome.exit_code == -signal.SIGTERM


def test_the_holder_of_the_lease_is_asked_again_when_its_time_has_come(
    supervisor: Supervisor, tmp_path: Path
) -> None:
    clock = WatchedClock()
    command = supervisor.command(
        "fetch", tmp_path / "x.json", python=script(tmp_path, "exec sleep 600")
    )

    def cancel_at_the_third() -> Verdict:
        return Verdict.CANCEL if supervisor.beats == 3 else Verdict.CONTINUE

    with running(supervisor, command, cancel_at_the_third, clock) as outcome:
        for beats in (1, 2):
            wait_for(lambda: supervisor.beats == beats, what=f"beat {beats}")  # noqa: B023
            clock.wait_for_looks(6)
            assert supervisor.beats == beats
            clock.advance(0.05)
        assert outcome.result(DEADLINE_SECONDS).kind is OutcomeKind.CANCELLED


def test_a_lost_lease_kills_at_once(supervisor: Supervisor, tmp_path: Path) -> None:
    body = f"trap 'touch {tmp_path}/asked_politely' TERM\ntouch {tmp_path}/up\nsleep 600 & wait"
    command = supervisor.command("fetch", tmp_path / "x.json", python=script(tmp_path, body))

    def lose_once_it_is_up() -> Verdict:
        wait_for((tmp_path / "up").exists, what="the step")
        return Verdict.LOST

    outcome = supervisor.run(command, lose_once_it_is_up, clock=ManualClock())
    assert outcome.kind is OutcomeKind.LOST
    assert supervisor.marked() == []
    assert not (tmp_path / "asked_politely").exists()


def test_a_killed_child_is_a_crash_with_its_last_lines(
    supervisor: Supervisor, tmp_path: Path
) -> None:
    body = "sleep 600 &\necho the last words\nkill -9 $$"
    command = supervisor.command("fetch", tmp_path / "x.json", python=script(tmp_path, body))
    outcome = supervisor.run(command)
    assert outcome.kind is OutcomeKind.CRASHED
    assert outcome.exit_code == -signal.SIGKILL
    assert outcome.failure is not None
    assert outcome.failure.code == "EHB-KILLED"
    assert "the last words" in (outcome.failure.detail or "")
    assert supervisor.marked() == []


def test_a_real_step_killed_in_the_middle_is_a_crash(
    supervisor: Supervisor, tiny: Path, gates: Gates
) -> None:
    job = supervisor.job("fetch", spec_of(str(tiny)))
    gates.hold("fetch")
    command = supervisor.command("fetch", job, environment=gates.environment)

    def kill_once_it_works() -> Verdict:
        for standing in gates.came("fetch"):
            os.kill(standing, signal.SIGKILL)
        return Verdict.CONTINUE

    outcome = supervisor.run(command, kill_once_it_works)
    assert outcome.kind is OutcomeKind.CRASHED
    assert not (supervisor.folder / "tmp/fetch/manifest.json").exists()


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("echo 'OSError: [Errno 28] No space left on device'; exit 1", "EHB-DISK-FULL"),
        ("echo MemoryError; exit 1", "EHB-OUT-OF-MEMORY"),
        ("echo nothing known; exit 3", "EHB-CRASHED"),
        ("exit 0", "EHB-CRASHED"),
        ("kill -SEGV $$", "EHB-CRASHED"),
    ],
)
def test_an_end_without_words_is_read_from_the_log(
    supervisor: Supervisor, tmp_path: Path, body: str, code: str
) -> None:
    command = supervisor.command("fetch", tmp_path / "x.json", python=script(tmp_path, body))
    outcome = supervisor.run(command)
    assert outcome.kind is OutcomeKind.CRASHED
    assert outcome.failure is not None
    assert outcome.failure.code == code


def test_an_unforeseen_error_crashes_with_its_traceback(
    supervisor: Supervisor, tmp_path: Path
) -> None:
    (tmp_path / "broken.json").write_text('{"format": 1}')
    outcome = supervisor.run(supervisor.command("fetch", tmp_path / "broken.json"))
    assert outcome.kind is OutcomeKind.CRASHED
    assert outcome.failure is not None
    assert "ValidationError" in (outcome.failure.detail or "")


def test_a_slow_log_reader_does_not_hold_up_the_step(
    supervisor: Supervisor, tmp_path: Path
) -> None:
    body = f"head -c 20000000 /dev/zero | tr '\\0' 'x' | fold -w 99\ntouch {tmp_path}/written"
    command = supervisor.command("fetch", tmp_path / "x.json", python=script(tmp_path, body))

    def slow_beat() -> Verdict:
        wait_for((tmp_path / "written").exists, what="all output to be written")
        return Verdict.CONTINUE

    supervisor.run(command, slow_beat)
    assert b"bytes of output were dropped" in supervisor.log
    assert len(supervisor.log) < 12_000_000


def test_an_error_of_the_lease_holder_leaves_no_process(
    supervisor: Supervisor, tmp_path: Path
) -> None:
    command = supervisor.command(
        "fetch", tmp_path / "x.json", python=script(tmp_path, "sleep 600 & sleep 600")
    )

    def fail() -> Verdict:
        raise ConnectionError("the database is gone")

    with pytest.raises(ConnectionError):
        supervisor.run(command, fail)
    assert supervisor.marked() == []


def test_an_interpreter_that_is_missing_leaks_no_descriptor(
    supervisor: Supervisor, tmp_path: Path
) -> None:
    before = open_pipes()
    command = supervisor.command(
        "fetch", tmp_path / "x.json", python="/nowhere/python", secrets={"a": "b"}
    )
    with pytest.raises(FileNotFoundError):
        supervisor.run(command)
    assert open_pipes() <= before


def open_pipes() -> set[str]:
    """The pipes of this process; other threads may open and close files and sockets meanwhile."""
    names = set()
    for descriptor in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            names.add(str(descriptor.readlink()))
    return {each for each in names if each.startswith("pipe:")}


def run_elsewhere(
    supervisor: Supervisor, job: Path, step: str, gates: Gates
) -> subprocess.Popen[bytes]:
    """Return a process that supervises the step."""
    source = f"""
from pathlib import Path
from workers.build_steps.child import StepCommand, Verdict, run_step
run_step(
    StepCommand(step={step!r}, job_path=Path({str(job)!r}), lease={supervisor.lease!r},
                instance={supervisor.instance!r}, environment={dict(gates.environment)!r}),
    on_progress=lambda progress: None,
    on_log=lambda data: None, heartbeat=lambda: Verdict.CONTINUE)
"""
    return subprocess.Popen([sys.executable, "-c", source], cwd=ROOT)


def test_a_supervisor_killed_in_mid_step_takes_the_child_with_it(
    supervisor: Supervisor, tiny: Path, gates: Gates
) -> None:
    gates.hold("fetch")
    job = supervisor.job("fetch", spec_of(str(tiny)))
    with run_elsewhere(supervisor, job, "fetch", gates) as own:
        standing = gates.wait_for_arrival("fetch")
        assert [each.pid for each in supervisor.marked()] == [standing]
        own.kill()
    wait_for(lambda: not supervisor.marked(), what="no process of the step")


@pytest.mark.engine
def test_a_supervisor_killed_while_an_engine_runs_takes_that_with_it(
    supervisor: Supervisor, packaged: Packaged, gates: Gates
) -> None:
    job = packaged.smoke_test_job(supervisor)
    with run_elsewhere(supervisor, job, "smoke_test", gates) as own:
        wait_for(lambda: len(supervisor.marked()) == 2, what="the step and its engine")
        own.kill()
    wait_for(lambda: not supervisor.marked(), what="no process of the step")
