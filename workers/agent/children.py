"""The runner's child: started so that it dies with the runner, watched until it has ended."""

import ctypes
import os
import selectors
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from controlplane.clock import SYSTEM, Clock
from workers.agent.capped_log import CappedLog

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_CHUNK_BYTES = 65_536
_libc = ctypes.CDLL(None, use_errno=True)


def become_subreaper() -> None:
    """Inherit every orphan below this process, so that none escapes."""
    if _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER) was refused")


class StopRequest:
    """Notes SIGTERM and SIGINT; its descriptor wakes a selector."""

    def __init__(self) -> None:
        self.is_requested = False
        self.descriptor, self._write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(self._write, warn_on_full_buffer=False)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._note)

    def _note(self, number: int, frame: object) -> None:
        self.is_requested = True


class Beside(Protocol):
    """What else the loop that watches a child serves: none of it waits."""

    def fileno(self) -> int: ...

    def turn(self) -> None: ...

    def close(self) -> None: ...


class Child:
    """One process in a session of its own, its output going to the log."""

    def __init__(
        self,
        argv: Sequence[str],
        *,
        environment: Mapping[str, str],
        folder: Path,
        log: CappedLog,
        pass_fds: Sequence[int] = (),
        clock: Clock = SYSTEM,
    ) -> None:
        self._log = log
        self._clock = clock
        self._parent = os.getpid()
        self._process = subprocess.Popen(
            argv,
            env=dict(environment),
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            pass_fds=pass_fds,
            start_new_session=True,
            # Safe here: the runner has a single thread.
            preexec_fn=self._die_with_parent,
        )

    @property
    def pid(self) -> int:
        return self._process.pid

    def watch(
        self, stop: StopRequest, *, drain_seconds: float, beside: Beside | None = None
    ) -> int:
        """Return the child's exit code once it has ended, stopping it when asked to.

        `beside` is served until then, or until the child is to stop.
        """
        assert self._process.stdout is not None
        output = self._process.stdout.fileno()
        os.set_blocking(output, False)
        ended = os.pidfd_open(self.pid)
        kill_at: float | None = None
        with selectors.DefaultSelector() as selector:
            for descriptor in (output, ended, stop.descriptor):
                selector.register(descriptor, selectors.EVENT_READ)
            if beside is not None:
                selector.register(beside, selectors.EVENT_READ)
            while self._process.poll() is None:
                selector.select(timeout=0.5 if kill_at else None)
                _drain(stop.descriptor)
                if self._copy(output) == 0 and output in selector.get_map():
                    selector.unregister(output)
                if beside is not None and (stop.is_requested or not self._served(beside)):
                    selector.unregister(beside)
                    beside.close()
                    beside = None
                if stop.is_requested and kill_at is None:
                    self._process.terminate()
                    kill_at = self._clock.monotonic() + drain_seconds
                if kill_at is not None and self._clock.monotonic() > kill_at:
                    self.kill()
        if beside is not None:
            beside.close()
        self._copy(output)
        os.close(ended)
        return self._process.wait()

    def kill(self) -> None:
        """Kill the child and everything in its session's group."""
        try:
            os.killpg(self.pid, signal.SIGKILL)
        except ProcessLookupError:
            return

    def _served(self, beside: Beside) -> bool:
        """Return whether that went well: whatever is asked beside it, the child is watched on."""
        try:
            beside.turn()
        except Exception as error:
            self._log.write(f"The runner answers nobody any more: {error!r}\n".encode())
            return False
        return True

    def _copy(self, output: int) -> int | None:
        """Copy what has been written; 0 when the writing end is closed, None when all is read."""
        while True:
            try:
                data = os.read(output, _CHUNK_BYTES)
            except BlockingIOError:
                return None
            if not data:
                return 0
            self._log.write(data)

    def _die_with_parent(self) -> None:
        _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != self._parent:  # it died before the line above
            os._exit(1)


def kill_descendants(*, timeout_seconds: float = 5.0, clock: Clock = SYSTEM) -> None:
    """Kill and reap all that is left below this process, adopted orphans included."""
    deadline = clock.monotonic() + timeout_seconds
    while clock.monotonic() < deadline:
        children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
        for pid in map(int, children):
            os.kill(pid, signal.SIGKILL)
        if not _reap() and not children:
            return
        clock.sleep(0.02)


def _reap() -> bool:
    """Return whether a dead child was collected."""
    try:
        return os.waitpid(-1, os.WNOHANG)[0] != 0
    except ChildProcessError:
        return False


def _drain(descriptor: int) -> None:
    try:
        while os.read(descriptor, 512):
            pass
    except BlockingIOError:
        return
