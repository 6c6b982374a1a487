"""A container that lives as long as this process."""

import ctypes
import os
import signal
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from typing import Any

from controlplane.clock import SYSTEM, Clock
from controlplane.domain.failures.registry import containers
from workers.runtimes.container import failures
from workers.runtimes.container.docker_engine import connected
from workers.runtimes.container.failures import ContainerRefused
from workers.runtimes.container.host_config import host_config
from workers.runtimes.container.leftovers import remove_containers
from workers.runtimes.container.mark import Mark
from workers.runtimes.container.order import Order

_PR_SET_PDEATHSIG = 1
_STATUS_OF_A_SIGNAL = 128
_KILLED = _STATUS_OF_A_SIGNAL + signal.SIGKILL
_WORD_SECONDS, _LOOK_SECONDS = 2.0, 0.1
"""For Docker's word that memory ran out, which may follow its word of the end."""


class Foreground:
    """Runs one order's container from its creation to its removal."""

    def __init__(
        self,
        order: Order,
        command: Sequence[str],
        environment: Mapping[str, str],
        *,
        clock: Clock = SYSTEM,
    ) -> None:
        self._order = order
        self._command = list(command)
        self._environment = environment
        self._clock = clock
        self._mark = Mark(lease=order.lease, instance=order.instance)
        self._stop = threading.Event()
        self._container = ""
        self._is_started = False

    def run(self) -> int:
        """Return the engine's exit status, 128 and more for a signal. Raises ContainerRefused.

        1. Remove what an earlier start of the same lease left.
        2. Create the container and take hold of its input and output before it starts.
        3. Pass on its output until it has ended; SIGTERM goes to the engine.
        4. See how it ended, and remove it.
        """
        _end_with_parent()
        signal.signal(signal.SIGTERM, lambda *_: self._stop.set())
        remove_containers(self._mark, self._environment)
        try:
            with connected(self._environment) as engine:
                self._create(engine)
                self._serve(engine)
                return self._status(engine)
        except ContainerRefused as refused:
            if self._is_started and refused.failure.code == failures.AWAY:
                raise ContainerRefused.of(containers.LOST, detail=str(refused)) from refused
            raise
        finally:
            with suppress(ContainerRefused):
                remove_containers(self._mark, self._environment)

    def _create(self, engine: Any) -> None:
        from docker.errors import APIError

        try:
            created = engine.create_container(
                self._order.image_id,
                name=self._mark.name,
                entrypoint=self._command[:1],
                command=self._command[1:],
                user=f"{os.getuid()}:{os.getgid()}",
                environment=dict(self._order.environment),
                labels=self._mark.labels,
                working_dir="/",
                # Open to the one connection that is attached, and closed with it.
                stdin_open=True,
                host_config=host_config(engine, self._order),
            )
        except APIError as error:
            if error.status_code == 409:
                raise ContainerRefused.of(
                    containers.NAME, name=self._mark.name, detail=str(error.explanation)
                ) from error
            raise
        self._container = str(created["Id"])

    def _serve(self, engine: Any) -> None:
        """Start the container and pass on what it says until it has ended."""
        from docker.utils.socket import frames_iter

        attach = {"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1}
        # Before the start, so that nothing said is lost and its input is held from the beginning.
        with closing(engine.attach_socket(self._container, params=attach)) as connection:
            if self._stop.is_set():
                return
            engine.start(self._container)
            self._is_started = True
            _say(f"Container {self._container[:12]} of image {self._order.reference} started.\n")
            threading.Thread(target=self._pass_on_stop, daemon=True).start()
            for _, piece in frames_iter(connection, tty=False):
                _say(piece)

    def _pass_on_stop(self) -> None:
        self._stop.wait()
        # A client of its own: the other one is in the hands of the main thread.
        with suppress(ContainerRefused), connected(self._environment) as engine:
            engine.kill(self._container, signal="SIGTERM")

    def _status(self, engine: Any) -> int:
        from docker.errors import NotFound

        if not self._is_started:
            return _STATUS_OF_A_SIGNAL + signal.SIGTERM
        try:
            status = int(engine.wait(self._container)["StatusCode"])
            if status and self._is_out_of_memory(engine, was_killed=status == _KILLED):
                raise ContainerRefused.of(containers.OUT_OF_MEMORY)
        except NotFound:  # someone removed it by force
            return _KILLED
        return status

    def _is_out_of_memory(self, engine: Any, *, was_killed: bool) -> bool:
        deadline = self._clock.monotonic() + (_WORD_SECONDS if was_killed else 0)
        while not engine.inspect_container(self._container)["State"]["OOMKilled"]:
            if self._clock.monotonic() >= deadline:
                return False
            self._clock.sleep(_LOOK_SECONDS)
        return True


def _say(words: str | bytes) -> None:
    sys.stdout.buffer.write(words.encode() if isinstance(words, str) else words)
    sys.stdout.buffer.flush()


def _end_with_parent() -> None:
    """Die with the process that started this one; the container's input closes with that."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
