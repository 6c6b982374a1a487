"""The engine's loop: admit, feed, choose, report, again."""

import logging
from collections import abc
from collections.abc import Iterator
from threading import Event

import torch
from torch import Tensor

from workers.engine.errors import RowFailed
from workers.engine.generation import Progress
from workers.engine.metrics import EngineMetrics
from workers.engine.runner import ModelRunner, Segment
from workers.engine.scheduler import Scheduler
from workers.engine.sequence import Sequence
from workers.gates import has_gates, pass_gate

log = logging.getLogger(__name__)

Step = abc.Sequence[tuple[Sequence, Segment]]


class EngineLoop:
    """Steps while there is work and sleeps while there is none."""

    def __init__(
        self,
        scheduler: Scheduler,
        runner: ModelRunner,
        metrics: EngineMetrics,
    ) -> None:
        self._scheduler = scheduler
        self._runner = runner
        self._metrics = metrics
        self._has_gates = has_gates()  # asked once: steps are short
        self._stopping = Event()

    def run(self) -> None:
        """Step until `stop`; an error that belongs to no row ends all rows, not the loop.

        Raises: `torch.AcceleratorError` where the GPU has failed: it computes nothing any more.
        """
        while not self._stopping.is_set():
            with self._scheduler.changed:
                self._scheduler.changed.wait_for(self._has_reason_to_wake)
            try:
                self.step()
            except Exception as error:
                for sequence in self._scheduler.clear():
                    self._report_failure(sequence, error)
                if isinstance(error, torch.AcceleratorError):
                    raise

    def stop(self) -> None:
        """End the loop after the step it is in. Any thread may ask."""
        self._stopping.set()
        with self._scheduler.changed:
            self._scheduler.changed.notify()

    def step(self) -> None:
        if self._has_gates:
            pass_gate("engine.step")
        self._scheduler.admit()
        for sequence, segment, logits in self._feed(self._scheduler.plan()):
            self._take(sequence, segment, logits)

    def _has_reason_to_wake(self) -> bool:
        return bool(self._stopping.is_set() or self._scheduler.waiting or self._scheduler.running)

    def _feed(self, step: Step) -> Iterator[tuple[Sequence, Segment, Tensor]]:
        """One forward for all; where it fails, one forward each finds whose fault it is."""
        if not step:
            return
        sequences = [sequence for sequence, _ in step]
        try:
            logits = self._runner.forward([segment for _, segment in step])
        except torch.AcceleratorError:
            raise
        except Exception as error:
            if len(step) == 1:
                self._fail(sequences[0], error)
                return
            description = repr(error)  # the record of a log may live long
            log.warning(
                "a step of %d rows failed, feeding them one by one: %s", len(step), description
            )
        else:
            for (sequence, segment), scores in zip(step, logits, strict=True):
                yield sequence, segment, scores
            return
        # Behind the handler: an error holds on to what its step had taken of the GPU's memory.
        for pair in step:
            yield from self._feed([pair])

    def _take(self, sequence: Sequence, segment: Segment, logits: Tensor) -> None:
        """Score what was fed of a prompt; behind its last piece, begin the answer."""
        try:
            logits = sequence.score_prompt(segment, logits)
        except Exception as error:
            self._fail(sequence, error)
            return
        if sequence.pending_tokens <= 0:
            self._advance(sequence, segment, logits)

    def _advance(self, sequence: Sequence, segment: Segment, logits: Tensor) -> None:
        """Choose tokens for as long as the drafts foretold them, and forget the other drafts.

        Each token is chosen as it would be without drafts, so they change no answer.
        """
        drafts = segment.tokens[len(segment.tokens) - segment.drafts :]
        try:
            accepted, last = self._choose(sequence, drafts, logits)
            # Past the border of a model's two sets of frequencies all tokens are rotated anew.
            holds = sequence.is_long == segment.is_long
            self._runner.cache.truncate(sequence.row, len(sequence.tokens) - 1 if holds else 0)
        except Exception as error:
            self._fail(sequence, error)
            return
        self._metrics.drafts_verified(segment, accepted)
        if last is not None:
            self._metrics.answer_ended(sequence)
            self._scheduler.leave(sequence)
            self._tell(sequence, last)

    def _choose(
        self, sequence: Sequence, drafts: abc.Sequence[int], logits: Tensor
    ) -> tuple[int, Progress | None]:
        """Give back how many drafts were right, and the last piece where the answer has ended."""
        for accepted, scores in enumerate(logits):
            before = sequence.last_token_at
            progress = sequence.accept(scores)
            self._metrics.token_chosen(sequence, before)
            if progress is not None and progress.is_last:
                return accepted, progress
            if progress is not None:
                sequence.generation.report(progress)
            if accepted < len(drafts) and sequence.tokens[-1] != drafts[accepted]:
                return accepted, None
        return len(drafts), None

    def _fail(self, sequence: Sequence, error: Exception) -> None:
        """End one row with its error; the loop and the other rows go on."""
        self._scheduler.leave(sequence, keep=False)
        self._report_failure(sequence, error)

    def _report_failure(self, sequence: Sequence, error: Exception) -> None:
        self._metrics.failed.inc()
        if isinstance(error, RowFailed):
            message = str(error)
        else:
            log.error("a row failed", exc_info=error)
            message = f"the engine failed on this request ({type(error).__name__})"
        failure = Progress(text="", completion_tokens=sequence.completion_tokens, failure=message)
        self._tell(sequence, failure)

    def _tell(self, sequence: Sequence, last: Progress) -> None:
        try:
            sequence.generation.report(last)
        except Exception as unreachable:
            log.warning("nobody takes the end of an answer: %r", unreachable)
