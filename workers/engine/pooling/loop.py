"""The pooling loop: take like rows, run them, hand the results over, again."""

import logging
from collections.abc import Iterable, Sequence
from concurrent.futures import InvalidStateError
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from threading import Condition
from traceback import clear_frames
from typing import NoReturn

import torch
from torch import Tensor

from controlplane.clock import SYSTEM, Clock
from workers.engine.errors import QueueFull, RowFailed
from workers.engine.pooling.batching import Buckets, Waiting
from workers.engine.pooling.metrics import PoolingMetrics
from workers.engine.pooling.rows import Request, Row
from workers.engine.pooling.runner import Finish, Runner
from workers.engine.pooling.turns import Turns
from workers.gates import has_gates, pass_gate

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Started:
    batch: Sequence[Waiting]
    finish: Finish


class PoolingLoop:
    """Runs while there are rows and sleeps while there are none."""

    def __init__(
        self,
        runner: Runner,
        rows: Buckets | Turns,
        metrics: PoolingMetrics,
        *,
        max_requests: int,
        clock: Clock = SYSTEM,
    ) -> None:
        self._runner = runner
        self._rows = rows
        self._metrics = metrics
        self._max_requests = max_requests
        self._clock = clock
        self._has_gates = has_gates()  # asked once: steps are short
        self._changed = Condition()
        self._requests: set[Request] = set()
        self._begun: set[Request] = set()
        self._stopping = False
        metrics.running.set_function(lambda: len(self._begun))
        metrics.waiting.set_function(lambda: len(self._requests) - len(self._begun))

    def submit(self, rows: Sequence[Row]) -> Request:
        """Queue the rows and give back their request. Any thread. Raises: `QueueFull`."""
        request = Request(rows=rows, arrived_at=self._clock.monotonic())
        with self._changed:
            if len(self._requests) >= self._max_requests:
                raise QueueFull(f"{len(self._requests)} requests are under way")
            self._requests.add(request)
            self._rows.add(request)
            self._changed.notify()
        request.answer.add_done_callback(lambda _: self._forget(request))
        return request

    def run(self) -> None:
        """Work until `stop`; where forwards overlap, start each before the last one's results."""
        started: _Started | None = None
        while (batch := self._next(waits=started is None)) or started:
            if self._has_gates and batch:
                pass_gate("engine.step")
            last, started = started, self._start(batch) if batch else None
            if last:
                self._finish(last)
            if started and not self._runner.overlaps:
                self._finish(started)
                started = None

    def stop(self) -> None:
        """End the loop after the forward it is in. Any thread may ask."""
        with self._changed:
            self._stopping = True
            self._changed.notify()

    def _next(self, *, waits: bool) -> list[Waiting]:
        """The next batch; empty once the loop is to end, or where it does not wait for one."""
        with self._changed:
            while not self._stopping:
                if batch := self._rows.take():
                    self._begun.update(each.request for each in batch)
                    return batch
                if not waits:
                    break
                self._changed.wait()
        return []

    def _start(self, batch: Sequence[Waiting]) -> _Started:
        """Start the rows together; what fails at once fails when it is finished."""
        try:
            return _Started(batch, self._runner.start([each.row for each in batch]))
        except Exception as error:
            clear_frames(error.__traceback__)  # which hold what the forward has taken of memory
            return _Started(batch, partial(_raise, error))

    def _finish(self, started: _Started) -> None:
        """Hand results over; where that fails, run the rows one by one to find whose fault it is.

        Raises: `torch.AcceleratorError` where the GPU has failed: it computes nothing any more.
        """
        batch = started.batch
        try:
            outputs = started.finish()
            lengths = [len(each.row) for each in batch]
            self._metrics.computed(lengths, pads=self._runner.pads)
            for each, output in zip(batch, outputs, strict=True):
                self._hand_over(each, output)
        except torch.AcceleratorError as error:
            with self._changed:
                everyone = tuple(self._requests)
            self._fail(everyone, error)
            raise
        except Exception as error:
            if len(batch) == 1:
                self._fail([batch[0].request], error)
                return
            description = repr(error)  # the record of a log may live long
            log.warning(
                "a batch of %d failed, running them one by one: %s", len(batch), description
            )
        else:
            return
        # Behind the handler: an error holds on to what its batch had taken of the GPU's memory.
        for each in batch:
            self._finish(self._start([each]))

    def _hand_over(self, waiting: Waiting, output: Tensor) -> None:
        request = waiting.request
        request.outputs[waiting.index] = output
        if len(request.outputs) < len(request.rows) or request.is_over:
            return
        # False for a request that was cancelled; from here on it cannot be.
        if request.answer.set_running_or_notify_cancel():
            self._metrics.answered(request, self._clock.monotonic())
            self._forget(request)  # before its client knows, who may send the next at once
            request.answer.set_result([request.outputs[at] for at in range(len(request.rows))])

    def _fail(self, requests: Iterable[Request], error: Exception) -> None:
        log.error("a text failed", exc_info=error)
        failure = RowFailed(f"the engine failed on this request ({type(error).__name__})")
        for request in requests:
            self._forget(request)
            with suppress(InvalidStateError):  # it may have been cancelled a moment ago
                request.answer.set_exception(failure)

    def _forget(self, request: Request) -> None:
        with self._changed:
            self._requests.discard(request)
            self._begun.discard(request)


def _raise(error: Exception) -> NoReturn:
    raise error
