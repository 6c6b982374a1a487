"""The loop outlives what fails, forgets who left, and takes no more than it may."""

from collections.abc import Callable, Sequence
from threading import Event, Thread
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.waiting import DEADLINE_SECONDS
from workers.engine.errors import QueueFull, RowFailed
from workers.engine.pooling.batching import Buckets
from workers.engine.pooling.loop import PoolingLoop
from workers.engine.pooling.metrics import PoolingMetrics
from workers.engine.pooling.rows import Request, Row

POISON = 666


class Runner:
    """Fails on a poisoned row, alone or among others; waits where it is told to."""

    pads, overlaps = True, False

    def __init__(self) -> None:
        self.may_go_on = Event()
        self.may_go_on.set()
        self.has_begun = Event()
        self.batches: list[int] = []

    def start(self, rows: Sequence[Row]) -> Callable[[], list[Tensor]]:
        self.has_begun.set()
        assert self.may_go_on.wait(DEADLINE_SECONDS)
        self.batches.append(len(rows))
        if any(POISON in row.ids for row in rows):
            raise RuntimeError("poison")
        return lambda: [torch.tensor(float(row.ids[0])) for row in rows]


class Stage:
    def __init__(self, runner: Any = None, **limits: Any) -> None:
        self.runner = runner or Runner()
        self.metrics = PoolingMetrics()
        buckets = Buckets(max_rows=8, max_tokens=1000)
        self.loop = PoolingLoop(self.runner, buckets, self.metrics, **{"max_requests": 9, **limits})
        self.thread = Thread(target=self.loop.run)
        self.thread.start()

    def hold(self) -> Request:
        """Give back a request in whose forward the loop stands still until it may go on."""
        self.runner.may_go_on.clear()
        future = self.loop.submit(rows(1))
        assert self.runner.has_begun.wait(DEADLINE_SECONDS)
        return future

    def __enter__(self) -> "Stage":
        return self

    def __exit__(self, *error: object) -> None:
        self.runner.may_go_on.set()
        self.loop.stop()
        self.thread.join(DEADLINE_SECONDS)
        assert not self.thread.is_alive()

    def metric(self, name: str) -> float:
        lines = self.metrics.expose().decode().splitlines()
        return next(float(line.split()[1]) for line in lines if line.startswith(f"{name} "))


def rows(*first: int) -> list[Row]:
    return [Row(ids=[number, 0]) for number in first]


def test_one_bad_text_fails_its_own_request_and_no_other() -> None:
    with Stage() as stage:
        first = stage.hold()
        bad = stage.loop.submit([*rows(2), Row(ids=[POISON, 0])])
        good = stage.loop.submit(rows(3, 4))
        stage.runner.may_go_on.set()
        assert good.answer.result(DEADLINE_SECONDS) == [torch.tensor(3.0), torch.tensor(4.0)]
        with pytest.raises(RowFailed, match="RuntimeError"):
            bad.answer.result(DEADLINE_SECONDS)
        assert first.answer.result(DEADLINE_SECONDS) == [torch.tensor(1.0)]
        later = stage.loop.submit(rows(5))
        assert later.answer.result(DEADLINE_SECONDS) == [torch.tensor(5.0)]


def test_an_error_that_belongs_to_no_text_ends_its_batch_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with Stage() as stage:
        with monkeypatch.context() as broken:
            broken.setattr(stage.metrics, "computed", _break)
            with pytest.raises(RowFailed, match="ArithmeticError"):
                stage.loop.submit(rows(1, 2)).answer.result(DEADLINE_SECONDS)
        assert stage.loop.submit(rows(3)).answer.result(DEADLINE_SECONDS) == [torch.tensor(3.0)]


def test_who_leaves_makes_room_and_is_not_computed() -> None:
    with Stage(max_requests=2) as stage:
        holding, left = stage.hold(), stage.loop.submit(rows(2, 3))
        with pytest.raises(QueueFull, match="2 requests"):
            stage.loop.submit(rows(4))
        assert left.answer.cancel()
        next_one = stage.loop.submit(rows(5))
        stage.runner.may_go_on.set()
        assert holding.answer.result(DEADLINE_SECONDS)
        assert next_one.answer.result(DEADLINE_SECONDS) == [torch.tensor(5.0)]
        assert sum(stage.runner.batches) == 2
        assert stage.metric("engine_requests_running") == 0
        assert stage.metric("engine_requests_waiting") == 0


def test_an_answer_counts_no_more_when_its_client_learns_of_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with Stage() as stage:
        holding, counted = stage.hold(), list[float]()
        tell = holding.answer.set_result

        def count(outputs: list[Tensor]) -> None:
            counted.append(stage.metric("engine_requests_running"))
            tell(outputs)

        monkeypatch.setattr(holding.answer, "set_result", count)
        stage.runner.may_go_on.set()
        holding.answer.result(DEADLINE_SECONDS)
        assert counted == [0]


def test_padding_and_tokens_are_counted() -> None:
    with Stage() as stage:
        request = stage.loop.submit([Row(ids=[1] * 4), Row(ids=[1] * 3, was_cut=True)])
        request.answer.result(DEADLINE_SECONDS)
        assert stage.metric("engine_prompt_tokens_total") == 7
        assert stage.metric("engine_padding_tokens_total") == 1
        assert stage.metric("engine_truncated_inputs_total") == 1
        assert stage.metric("engine_end_to_end_seconds_count") == 1


class Overlapping(Runner):
    """Goes on by itself: what it was started with is done when its results are asked for."""

    pads, overlaps = False, True

    def __init__(self) -> None:
        super().__init__()
        self.has_begun_again = Event()

    def start(self, rows: Sequence[Row]) -> Callable[[], list[Tensor]]:
        (self.has_begun_again if self.has_begun.is_set() else self.has_begun).set()
        return lambda: self._results(rows)

    def _results(self, rows: Sequence[Row]) -> list[Tensor]:
        assert self.may_go_on.wait(DEADLINE_SECONDS)
        return super().start(rows)()


def test_a_forward_is_started_before_the_results_of_the_last_are_taken() -> None:
    with Stage(runner=Overlapping()) as stage:
        stage.runner.may_go_on.clear()
        first = stage.loop.submit([Row(ids=[1] * 999)])
        second = stage.loop.submit([Row(ids=[2] * 999)])
        assert stage.runner.has_begun_again.wait(DEADLINE_SECONDS)
        assert stage.runner.batches == []
        stage.runner.may_go_on.set()
        assert first.answer.result(DEADLINE_SECONDS) == [torch.tensor(1.0)]
        assert second.answer.result(DEADLINE_SECONDS) == [torch.tensor(2.0)]


def test_a_text_that_fails_when_its_results_are_taken_fails_alone() -> None:
    with Stage(runner=Overlapping()) as stage:
        stage.runner.may_go_on.clear()
        future = stage.loop.submit([Row(ids=[1] * 999)])
        assert stage.runner.has_begun.wait(DEADLINE_SECONDS)
        bad = stage.loop.submit([*rows(2), Row(ids=[POISON, 0])])
        good = stage.loop.submit(rows(3))
        stage.runner.may_go_on.set()
        assert future.answer.result(DEADLINE_SECONDS) == [torch.tensor(1.0)]
        assert good.answer.result(DEADLINE_SECONDS) == [torch.tensor(3.0)]
        with pytest.raises(RowFailed, match="RuntimeError"):
            bad.answer.result(DEADLINE_SECONDS)
        assert stage.metric("engine_padding_tokens_total") == 0


def _break(*_: object, **__: object) -> None:
    raise ArithmeticError("nobody's fault")
