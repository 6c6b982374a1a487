"""The one thread that runs torch."""

from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from threading import Thread
from typing import Any, TypeVar

Result = TypeVar("Result")


class ModelThread:
    """Carries out calls one after another on a thread of its own.

    OpenMP keeps a pool of workers per calling thread, and as soon as two pools together have
    more workers than there are cores, each puts its workers to sleep between any two products:
    a step of SmolLM2 on two cores then takes 100 ms and not 60. So weights are loaded on the
    thread that will multiply them, and no other thread computes.
    """

    def __init__(self) -> None:
        self._calls: SimpleQueue[tuple[Callable[[], Any], Future[Any]] | None] = SimpleQueue()
        self._loop: Future[None] | None = None
        self._thread = Thread(target=self._run, name="model", daemon=True)
        self._thread.start()

    def call(self, function: Callable[[], Result]) -> "Future[Result]":
        future: Future[Result] = Future()
        self._calls.put((function, future))
        return future

    def load(self, function: Callable[[], Result]) -> Result:
        """Carry out the first call and give back its result; where it fails, the thread ends."""
        try:
            return self.call(function).result()
        except BaseException:
            self.stop()
            raise

    def run(self, loop: Callable[[], None]) -> None:
        self._loop = self.call(loop)

    @property
    def is_running(self) -> bool:
        return self._loop is not None and not self._loop.done()

    def stop(self) -> None:
        """Wait for the calls made so far, then end the thread."""
        self._calls.put(None)
        self._thread.join()

    def _run(self) -> None:
        while (call := self._calls.get()) is not None:
            function, future = call
            try:
                future.set_result(function())
            except BaseException as error:
                future.set_exception(error)
