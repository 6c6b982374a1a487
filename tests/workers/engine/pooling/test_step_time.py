"""A forward has as many tokens as a short while allows, by what one takes on this device."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from torch import Tensor

from tests.manual_clock import ManualClock
from tests.workers.engine.pooling.encoders import make_encoder, write_sentence_files
from workers.engine.pooling.engine import PoolingEngine
from workers.engine.pooling.packed.runner import PackedRunner
from workers.engine.pooling.rows import Row
from workers.engine.pooling.step_time import LEAST_TOKENS, seconds_of, tokens_in_time
from workers.engine.settings import EngineSettings


class Runner:
    """Takes a second for each thousand tokens, and ten more for the first forward."""

    pads, overlaps = False, True

    def __init__(self, clock: ManualClock) -> None:
        self.clock, self.forwards = clock, list[list[int]]()

    def warm_up(self) -> None: ...

    def start(self, rows: Sequence[Row]) -> Callable[[], list[Tensor]]:
        self.forwards.append([len(row) for row in rows])
        self.clock.advance(sum(map(len, rows)) / 1000 + (10 if len(self.forwards) == 1 else 0))
        return list


@pytest.mark.parametrize(
    ("seconds", "tokens"),
    [(0.004, 8192), (0.015, 8192), (0.030, 4096), (0.034, 3614), (3.0, LEAST_TOKENS)],
)
def test_tokens_grow_fewer_as_a_forward_takes_longer(seconds: float, tokens: int) -> None:
    assert tokens_in_time(8192, seconds) == tokens


def test_a_limit_below_the_least_is_kept() -> None:
    assert tokens_in_time(512, 9.0) == 512


@pytest.mark.parametrize(("longest", "length"), [(512, 128), (64, 64)])
def test_the_first_forward_is_not_timed(longest: int, length: int) -> None:
    runner = Runner(clock := ManualClock())
    assert seconds_of(runner, 2048, longest, clock) == pytest.approx(2.048)
    assert runner.forwards[0] == [length] * (2048 // length)


def test_an_engine_on_a_slow_device_fills_its_forwards_less(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Slow(ManualClock):
        def monotonic(self) -> float:
            self.advance(1.0)
            return super().monotonic()

    folder = write_sentence_files(
        make_encoder("Bert", tmp_path), {"pooling_mode_mean_tokens": True}
    )
    settings = EngineSettings(model_dir=folder, served_model_name="x", dtype="float32")
    engine = PoolingEngine(settings, clock=Slow())
    assert engine.report()["step_tokens"] == 2048
    monkeypatch.setattr(PackedRunner, "overlaps", True)
    engine.start()
    engine.stop()
    assert engine.report()["step_tokens"] == engine._rows.max_tokens == LEAST_TOKENS
