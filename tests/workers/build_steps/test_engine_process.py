from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from controlplane.domain.runtimes import Launch
from tests.loopback_server import nobody_listens
from tests.manual_clock import ManualClock
from tests.waiting import DEADLINE_SECONDS, wait_for
from workers.build_steps.engine_process import EngineProcess
from workers.build_steps.failures import StepFailure


def test_an_engine_that_is_not_ready_in_its_time_is_given_up_with_its_last_lines(
    tmp_path: Path,
) -> None:
    clock = ManualClock()
    with nobody_listens() as place, ThreadPoolExecutor(1) as pool:
        host, port = place.split(":")
        says = ("bash", "-c", "echo still loading; exec sleep 600", "engine", "--port", port)
        launch = Launch(argv=says, environment={}, files={})
        with EngineProcess(
            launch, runtime="native", host=host, folder=tmp_path, clock=clock
        ) as engine:
            ready = pool.submit(engine.wait_until_ready, 600.0)
            wait_for(lambda: "still loading" in engine.last_lines(), what="the engine's words")
            clock.wait_for_waiters()
            clock.advance(600.0)
            with pytest.raises(StepFailure) as raised:
                ready.result(DEADLINE_SECONDS)
    assert raised.value.failure.code == "EHB-ENGINE-SLOW"
    assert "still loading" in (raised.value.failure.detail or "")
