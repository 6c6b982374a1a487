"""Kill -9 of every kind of process of a serving installation, each at a bad moment.

The endpoint goes on or comes back, the state that the API shows becomes true, and no process is
left to nobody. How soon is measured by `benchmarks/recovery.py`.
"""

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.e2e.installation import TINY_YAML, Installation, eventually, installation

pytestmark = [pytest.mark.recovery, pytest.mark.e2e]


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    with installation(tmp_path_factory.mktemp("up")) as running:
        yield running


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
    "kind", ["gateway", "web", "agent", "scheduler", "control", "build", "valkey", "postgres"]
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
    here: Installation, model: dict[str, Any]
) -> None:
    smaller = TINY_YAML.replace("max_batch_size: 4", "max_batch_size: 3")
    config = here.config("tiny-again", smaller)
    build = here.post("builds", {"config_id": config["id"]})
    for kind in ("build", "valkey", "postgres"):
        here.kill(kind)
    eventually(
        lambda: here.get(f"builds/{build['id']}")["state"] in {"succeeded", "failed"},
        what="the build ended in spite of three kills",
    )
    ended = here.get(f"builds/{build['id']}")
    assert ended["state"] == "succeeded", ended
    eventually(lambda: not here.pids("step"), what="no step is left")


def test_a_killed_supervisor_leaves_the_engine_to_the_next_start(
    tmp_path: Path,
) -> None:
    with installation(tmp_path, stop_engines=False) as first:
        deployed = first.deploy()
        engine = first.pid("engine")
        os.kill(first.machine.pid, signal.SIGKILL)
        eventually(
            lambda: not (first.pids("web") or first.pids("postgres") or first.pids("agent")),
            what="its processes end with it",
        )
        assert psutil.pid_exists(engine)
    with installation(tmp_path) as second:
        eventually(lambda: second.answers(deployed["id"]), what="it answers again")
        assert second.pids("engine") == [engine]
    assert not psutil.pid_exists(engine)
