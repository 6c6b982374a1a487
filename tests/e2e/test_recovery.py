"""Kill -9 of every kind of process of a serving installation, each at a bad moment.

The endpoint goes on or comes back, the state that the API shows becomes true, and no process is
left to nobody. How soon is measured by `benchmarks/recovery.py`.
"""

import os
import signal
from collections.abc import Iterator
from typing import Any

import psutil
import pytest

from tests.e2e.installation import TINY_YAML, Installation, eventually, installation
from tests.gates import Gates

pytestmark = [pytest.mark.recovery, pytest.mark.e2e, pytest.mark.long]


@pytest.fixture(scope="module")
def gates() -> Iterator[Gates]:
    with Gates() as kept:
        yield kept


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory, gates: Gates) -> Iterator[Installation]:
    """One that leaves its engines behind, until a killed supervisor has been started again."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in gates.environment.items():
            patch.setenv(name, value)
        folder = tmp_path_factory.mktemp("up")
        with installation(folder, stop_engines=False) as running:
            yield running
    left = running.pids("engine")
    running.kill_all("runner", "engine")
    assert not (running.stops_engines and left)


@pytest.fixture(scope="module")
def model(here: Installation) -> dict[str, Any]:
    return here.deploy()


def _production(here: Installation, model: dict[str, Any]) -> dict[str, Any]:
    return here.get(f"models/{model['id']}/deployments/production")


def _is_whole(here: Installation, model: dict[str, Any]) -> bool:
    shown = _production(here, model)
    return (
        shown["status"] == "ACTIVE"
        and shown["active_replica_count"] == 1
        and len(here.pids("engine")) == 1
        and here.answers(model["id"])
    )


@pytest.mark.parametrize(
    "kind",
    ["gateway", "web", "agent", "scheduler", "control", "async", "build", "valkey", "postgres"],
)
def test_an_engine_goes_on_serving_while_a_killed_process_comes_back(
    here: Installation, model: dict[str, Any], kind: str
) -> None:
    eventually(lambda: _is_whole(here, model), what="whole before the kill")
    engine = here.pid("engine")
    victim = here.kill(kind)
    eventually(
        lambda: any(pid != victim for pid in here.pids(kind)),
        what=f"{kind} started again",
    )
    eventually(lambda: _is_whole(here, model), what="whole after the kill")
    assert here.pids("engine") == [engine]


@pytest.mark.parametrize("kind", ["engine", "runner"])
def test_a_killed_engine_is_shown_as_such_and_replaced(
    here: Installation, model: dict[str, Any], kind: str
) -> None:
    eventually(lambda: _is_whole(here, model), what="whole before the kill")
    engine = here.pid("engine")
    here.kill(kind)
    eventually(
        lambda: (
            _production(here, model)["active_replica_count"] == 0
            or (here.pids("engine") not in ([], [engine]) and here.answers(model["id"]))
        ),
        what="the loss is shown, or already mended",
    )
    eventually(lambda: _is_whole(here, model), what="replaced")
    assert not psutil.pid_exists(engine)


def test_a_build_survives_its_worker_the_broker_and_the_database(
    here: Installation, model: dict[str, Any], gates: Gates
) -> None:
    smaller = TINY_YAML.replace("max_batch_size: 4", "max_batch_size: 3")
    config = here.config("tiny-again", smaller)
    came = {step: len(gates.came(step)) for step in ("inspect", "smoke_test")}
    gates.hold(*came)
    build = here.post("builds", {"config_id": config["id"]})

    gates.wait_for_arrival("inspect", after=came["inspect"])
    here.kill("build")
    gates.wait_for_arrival("inspect", after=came["inspect"] + 1)
    here.kill("valkey")
    gates.let_go("inspect")

    gates.wait_for_arrival("smoke_test", after=came["smoke_test"])
    here.kill("postgres")
    gates.let_go("smoke_test")
    eventually(
        lambda: here.get(f"builds/{build['id']}")["state"] in {"succeeded", "failed"},
        what="the build ended in spite of three kills",
    )
    ended = here.get(f"builds/{build['id']}")
    assert ended["state"] == "succeeded", ended
    eventually(lambda: not here.pids("step"), what="no step is left")


def test_a_killed_supervisor_leaves_the_engine_to_the_next_start(
    here: Installation, model: dict[str, Any]
) -> None:
    eventually(lambda: _is_whole(here, model), what="whole before the kill")
    engine = here.pid("engine")
    os.kill(here.machine.pid, signal.SIGKILL)
    eventually(
        lambda: not (here.pids("web") or here.pids("postgres") or here.pids("agent")),
        what="its processes end with it",
    )
    assert psutil.pid_exists(engine)
    here.start_again()
    # Until it has adopted the engine, an agent that is told to end leaves it behind.
    eventually(lambda: ": adopted" in here.log(), what="the engine has a new agent")
    eventually(lambda: _is_whole(here, model), what="whole after the next start")
    assert here.pids("engine") == [engine]
