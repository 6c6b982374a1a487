"""A GPU without memory costs one row, and a GPU that has failed ends the engine."""

import asyncio
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
import uvicorn

from tests.waiting import DEADLINE_SECONDS
from tests.workers.engine.asking import Asked, make_engine, start_engine
from tests.workers.engine.pooling.encoders import make_encoder, write_sentence_files
from workers.engine.engine import Engine
from workers.engine.errors import RowFailed
from workers.engine.pooling.engine import PoolingEngine
from workers.engine.pooling.rows import Row
from workers.engine.runner import Segment
from workers.engine.settings import EngineSettings
from workers.runtimes.native.process import _DrainingServer

pytestmark = pytest.mark.engine

PROMPT = [1, 321, 71]
LARGE = [1, 321, 71, 5, 6, 7]


class _Weight:
    """What a step has on the GPU."""


def test_a_step_without_memory_is_repeated_by_rows_with_its_memory_given_back(
    checkpoint: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = make_engine(checkpoint)
    holders: list[weakref.ref[_Weight]] = []
    seen: list[bool] = []

    def forward(real: Callable[..., Any], segments: Sequence[Segment]) -> Any:
        if len(segments) > 1:
            weight = _Weight()
            holders.append(weakref.ref(weight))
            _run_out()
        seen.extend(each() is None for each in holders)
        if segments and len(segments[0].tokens) == len(LARGE):
            _run_out()
        return real(segments)

    real = engine._runner.forward
    monkeypatch.setattr(engine._runner, "forward", lambda segments: forward(real, segments))
    good, bad = Asked(engine, PROMPT, max_tokens=4), Asked(engine, LARGE, max_tokens=4)
    engine.start()
    assert bad.finish().failure == "the engine failed on this request (OutOfMemoryError)"
    assert good.finish().failure is None
    assert holders
    assert all(seen)
    assert engine.is_alive
    engine.stop()


def test_a_device_that_has_failed_ends_the_engine_and_its_server(
    checkpoint: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = start_engine(checkpoint)
    server = _DrainingServer(uvicorn.Config(_no_app, log_config=None), engine)
    assert not asyncio.run(server.on_tick(1))
    monkeypatch.setattr(engine._runner, "forward", _fail)
    with engine._scheduler.changed:  # both are in line before the step that fails
        request = [Asked(engine, PROMPT, max_tokens=4) for _ in range(2)]
    failures = {one.finish().failure for one in request}
    assert failures == {"the engine failed on this request (AcceleratorError)"}
    _await_end(engine)
    assert asyncio.run(server.on_tick(1))
    engine.stop()


def test_all_texts_end_with_their_device_and_the_pooling_engine_with_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make_encoder("Bert", tmp_path)
    write_sentence_files(folder, {"pooling_mode_mean_tokens": True})
    engine = PoolingEngine(EngineSettings(model_dir=folder, served_model_name="x"))
    assert engine.report()["dtype"] == "float32"
    engine.start()
    monkeypatch.setattr(engine._runner, "start", _fail)
    with engine._loop._changed:  # both wait before the forward that fails, which takes the first
        futures = [engine.submit([Row(ids=[5] * length)]) for length in (3, 60)]
    for one in futures:
        with pytest.raises(RowFailed, match="AcceleratorError"):
            one.answer.result(DEADLINE_SECONDS)
    _await_end(engine)
    engine.stop()


def _await_end(engine: Engine | PoolingEngine) -> None:
    loop = engine._thread._loop
    assert loop is not None
    with pytest.raises(torch.AcceleratorError):
        loop.result(DEADLINE_SECONDS)


def _run_out() -> None:
    raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 MiB.")


def _fail(_segments: Sequence[Segment]) -> Any:
    raise torch.AcceleratorError("CUDA error: an illegal memory access was encountered")


async def _no_app(*_: Any) -> None:
    """Nobody asks it."""
