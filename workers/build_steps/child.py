"""Supervision of one step: start it, listen to it, keep its lease, and leave nothing behind."""

import os
import selectors
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Self

from controlplane.artifacts import secret_values
from controlplane.clock import SYSTEM, Clock
from controlplane.domain.failures import Failure
from controlplane.domain.redaction import Redactor
from workers.build_steps.crashes import explain_crash, spec_of_job
from workers.build_steps.environment import child_environment
from workers.build_steps.events import EventReader, Progress
from workers.build_steps.log_pump import LogPump
from workers.build_steps.oom_kills import oom_kills
from workers.build_steps.peaks import PeakMeter, Peaks
from workers.build_steps.processes import kill_all, living, of_step, send
from workers.filled_pipe import filled_pipe
from workers.runtimes.container.leftovers import clear_containers
from workers.runtimes.container.mark import Mark

_SOURCE_ROOT = Path(__file__).resolve().parents[2]
_TICK_SECONDS = 0.1
_GRACE_SECONDS = 3.0
"""From the polite signal of a cancel to the one that nobody survives."""


class Verdict(StrEnum):
    """What the holder of the lease answers to a heartbeat."""

    CONTINUE = "continue"
    CANCEL = "cancel"
    LOST = "lost"


class OutcomeKind(StrEnum):
    FINISHED = "finished"
    FAILED = "failed"
    CANCELLED = "cancelled"
    LOST = "lost"
    CRASHED = "crashed"


@dataclass(frozen=True, kw_only=True)
class StepCommand:
    step: str
    job_path: Path
    lease: str
    """`build/<build id>/<lease token>`, the mark of every process of this step."""
    instance: str
    """The installation, as given to `reap_orphans`; DATA_DIR serves well."""
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    store_variables: Mapping[str, str] = field(default_factory=dict, repr=False)
    """What opens the artifact store, for a step that publishes or takes out of it."""
    python: str = sys.executable
    environment: Mapping[str, str] = field(default_factory=dict)
    """Additions to the allow-listed environment; never a secret."""


@dataclass(frozen=True, kw_only=True)
class StepOutcome:
    """How a step ended, what it found, or why it did not, and the memory that it took."""

    kind: OutcomeKind
    values: dict[str, Any] | None = None
    failure: Failure | None = None
    exit_code: int | None = None
    peaks: Peaks = field(default_factory=Peaks)


def run_step(
    command: StepCommand,
    *,
    on_progress: Callable[[Progress], None],
    on_log: Callable[[bytes], None],
    heartbeat: Callable[[], Verdict],
    heartbeat_seconds: float = 1.0,
    clock: Clock = SYSTEM,
) -> StepOutcome:
    """Run the step to its end and return it; whatever happens, none of its processes is left.

    1. Start the child and pass on its progress and its log, redacted and in whole lines.
    2. Ask `heartbeat` every `heartbeat_seconds`: CANCEL ends the step within five seconds, LOST at
       once, for then someone else may be running it.
    3. Kill what it left, read the rest of what it said, and tell how it ended.
    """
    with _Child(command, clock) as child:
        next_beat = clock.monotonic()
        while not child.listen(_TICK_SECONDS):
            child.deliver(on_progress, on_log)
            if clock.monotonic() < next_beat:
                continue
            verdict = heartbeat()
            next_beat = clock.monotonic() + heartbeat_seconds
            if verdict is not Verdict.CONTINUE:
                child.stop(_GRACE_SECONDS if verdict is Verdict.CANCEL else 0.0)
                child.deliver(on_progress, on_log)
                kind = OutcomeKind.CANCELLED if verdict is Verdict.CANCEL else OutcomeKind.LOST
                return StepOutcome(kind=kind, exit_code=child.exit_code, peaks=child.peaks)
        child.stop(0.0)
        child.deliver(on_progress, on_log)
        return child.outcome()


class _Child:
    """The process of a step, its pipes, and every process that it starts."""

    def __init__(self, command: StepCommand, clock: Clock) -> None:
        self._command = command
        self._clock = clock
        self._redactor = Redactor(
            [*command.secrets.values(), *secret_values(command.store_variables)]
        )
        self._events = EventReader()
        self._events_ended = False
        self._oom_kills_before = oom_kills()
        self._finished = False
        self._own: list[int] = []
        """Descriptors of the supervisor's side."""

    def __enter__(self) -> Self:
        events_in, events_out = self._pipe()
        lifeline_in, _ = self._pipe(own_write_end=True)
        log_in, log_out = self._pipe()
        theirs = [events_out, lifeline_in, log_out]
        argv = [
            self._command.python, "-m", "workers.build_steps", self._command.step,
            "--job", str(self._command.job_path),
            "--events-fd", str(events_out), "--lifeline-fd", str(lifeline_in),
        ]  # fmt: skip
        for option, values in self._confided():
            theirs.append(filled_pipe(values))
            argv += [option, str(theirs[-1])]
        try:
            self._start(argv, theirs, log_out)
        except BaseException:
            self._close()
            raise
        finally:
            for descriptor in theirs:
                os.close(descriptor)
        os.set_blocking(events_in, False)
        self._events_in = events_in
        self._log = LogPump(log_in, self._redactor)
        self._pidfd = os.pidfd_open(self._process.pid)
        self._own.append(self._pidfd)
        return self

    def __exit__(self, *exception: object) -> None:
        self.stop(0.0)
        self._log.finish()
        self._close()

    @property
    def exit_code(self) -> int | None:
        """The status of the process; negative for a signal."""
        return self._process.returncode

    @property
    def peaks(self) -> Peaks:
        return self._meter.peaks()

    def listen(self, seconds: float) -> bool:
        """Take in events for up to that long; return whether the process has ended."""
        self._meter.look()
        with selectors.DefaultSelector() as selector:
            if not self._events_ended:
                selector.register(self._events_in, selectors.EVENT_READ)
            selector.register(self._pidfd, selectors.EVENT_READ)
            ready = {key.fd for key, _ in selector.select(seconds)}
        if self._events_in in ready:
            self._read_events()
        return self._pidfd in ready

    def deliver(
        self, on_progress: Callable[[Progress], None], on_log: Callable[[bytes], None]
    ) -> None:
        if progress := self._events.take_progress():
            on_progress(progress)
        if log := self._log.finish() if self._finished else self._log.take():
            on_log(log)

    def stop(self, grace_seconds: float) -> None:
        """End every process of the step: first politely, if there is time for it."""
        if self._finished:
            return
        command = self._command
        ours = of_step(self._process.pid, lease=command.lease, instance=command.instance)
        deadline = self._clock.monotonic() + grace_seconds
        if grace_seconds:
            for each in living(ours):
                send(each, signal.SIGTERM)
        while living(ours) and self._clock.monotonic() < deadline:
            self.listen(_TICK_SECONDS)
        kill_all(ours)  # by the machine's clock, as the kernel takes its time
        clear_containers(Mark(lease=command.lease, instance=command.instance))
        self._wait()
        while self._read_events():
            pass
        self._meter.take_own(self._events.peak_host_bytes)
        self._finished = True

    def outcome(self) -> StepOutcome:
        code, events = self._process.returncode, self._events
        if code == 0 and events.values is not None:
            values = self._redactor.data(events.values)
            return StepOutcome(
                kind=OutcomeKind.FINISHED, values=values, exit_code=code, peaks=self.peaks
            )
        if code == 1 and events.failure is not None:
            failure = Failure.from_json(self._redactor.data(events.failure.to_json()))
            return StepOutcome(
                kind=OutcomeKind.FAILED, failure=failure, exit_code=code, peaks=self.peaks
            )
        return StepOutcome(
            kind=OutcomeKind.CRASHED,
            failure=explain_crash(
                f"Step `{self._command.step}`",
                code,
                self._log.tail,
                spec=spec_of_job(self._command.job_path),
                was_oom_killed=oom_kills() > self._oom_kills_before,
            ),
            exit_code=code,
            peaks=self.peaks,
        )

    def _wait(self) -> None:
        _pid, status, usage = os.wait4(self._process.pid, 0)
        self._process.returncode = os.waitstatus_to_exitcode(status)
        self._meter.take_usage(usage)

    def _start(self, argv: list[str], descriptors: list[int], log_out: int) -> None:
        self._process = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=log_out,
            stderr=log_out,
            pass_fds=descriptors,
            env=child_environment(
                self._command.lease, self._command.instance, self._command.environment
            ),
            cwd=_SOURCE_ROOT,
            start_new_session=True,
        )
        self._meter = PeakMeter(self._process.pid, clock=self._clock)

    def _close(self) -> None:
        for descriptor in self._own:
            os.close(descriptor)

    def _confided(self) -> list[tuple[str, Mapping[str, str]]]:
        """Return what only the child may know, by the option that names its pipe."""
        secret_lines = [
            ("--secrets-fd", self._command.secrets),
            ("--store-fd", self._command.store_variables),
        ]
        return [(option, values) for option, values in secret_lines if values]

    def _pipe(self, *, own_write_end: bool = False) -> tuple[int, int]:
        read_end, write_end = os.pipe()
        self._own.append(write_end if own_write_end else read_end)
        return read_end, write_end

    def _read_events(self) -> bool:
        """Take in what lies in the pipe; return whether there was anything."""
        try:
            data = os.read(self._events_in, 65_536)
        except BlockingIOError:
            return False
        self._events.feed(data)
        self._events_ended = not data
        return bool(data)
