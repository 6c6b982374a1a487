"""A GPU that others hold, under a deployment: told with its cause, and recovered by itself.

The agent, its engine and whoever holds the GPU are real processes; the GPU is a rehearsed one.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pytest_django import Settings

from apps.deployments.models import Deployment, Replica
from apps.deployments.served_models.services import model_create
from apps.deployments.services.sweeping import deployments_sweep
from apps.fleet.models import Device
from controlplane.domain.spec import parse_text
from controlplane.domain.spec.edit import edit_yaml
from tests.factories import config_text, make_config, make_revision
from tests.factories_serving import make_servable_build
from tests.waiting import DEADLINE_SECONDS, wait_for
from tests.workers.agent.stage import AgentProcess, publish, wait_for_state

pytestmark = [pytest.mark.process, pytest.mark.recovery, pytest.mark.django_db(transaction=True)]
ROOT = Path(__file__).parents[3]
GIB = 1024**3
_HALF_DEAD = """
import ctypes, os, pathlib, threading, time
def outlive():
    while "State:\tZ" not in pathlib.Path(f"/proc/{os.getpid()}/status").read_text():
        time.sleep(0.01)
    print("up", flush=True)
    time.sleep(600)
threading.Thread(target=outlive).start()
ctypes.CDLL(None).syscall(60, 0)
"""
_WHOLE = "import time; print('up', flush=True); time.sleep(600)"
Hold = Callable[..., "subprocess.Popen[bytes]"]


@pytest.fixture
def hold(tmp_path: Path) -> Iterator[Hold]:
    """Start a process that holds memory of the rehearsed GPU."""
    folder = tmp_path / "rehearsed-device"
    folder.mkdir()
    started: list[subprocess.Popen[bytes]] = []

    def start(
        program: str = _WHOLE, *, is_shown: bool = True, **marks: str
    ) -> "subprocess.Popen[bytes]":
        process = subprocess.Popen(
            [sys.executable, "-c", program],
            env={"PATH": os.environ["PATH"], **marks},
            stdout=subprocess.PIPE,
        )
        started.append(process)
        assert process.stdout is not None
        process.stdout.readline()
        words = f"{'' if is_shown else 'hidden '}{8 * GIB}"
        (folder / str(process.pid)).write_text(words)
        return process

    yield start
    for each in started:
        end(each)
        assert each.stdout is not None
        each.stdout.close()


@pytest.fixture
def deployment(agent: AgentProcess, hold: Hold, settings: Settings, tmp_path: Path) -> Deployment:
    """What the agent serves on its rehearsed H100."""
    agent.extra = {
        "PYTHONPATH": str(ROOT / "benchmarks" / "gpu" / "rehearsal"),
        "TMPDIR": str(tmp_path),
    }
    artifact = publish(settings, tmp_path, {})
    body = {"resources": {"accelerator": "H100"}, "enginehouse.runtime": "native"}
    text = edit_yaml(config_text(), body)
    spec = parse_text(text).spec
    assert spec is not None
    revision = make_revision(
        config=make_config(team=artifact.team), text=text, spec=spec.model_dump(mode="json")
    )
    build = make_servable_build(revision=revision, artifact=artifact)
    made = model_create(team=artifact.team, name="tiny", build=build)[1]
    agent.start()
    wait_for_state(made, "active")
    return made


def test_who_keeps_the_device_of_a_killed_engine_is_told_until_all_are_gone(
    agent: AgentProcess, deployment: Deployment, hold: Hold
) -> None:
    first = deployment.replicas.get()
    instance = str(agent.data_dir / "agent" / "replicas")
    left = hold(ENGINEHOUSE_LEASE=f"replica/{first.id}/1", ENGINEHOUSE_INSTANCE=instance)
    stranger, half_dead = hold(), hold(_HALF_DEAD)
    os.kill(Replica.objects.get(id=first.id).pid, signal.SIGKILL)
    report = wait_for(
        lambda: sentence(deployment, f"process {stranger.pid}"), what="the stranger to be told of"
    )
    assert "which Enginehouse did not start" in report
    assert f"(process {half_dead.pid}" in report
    assert "which has ended without giving its memory back" in report
    failure = Replica.objects.get(id=first.id).failure
    assert (failure["code"], "SIGKILL" in failure["sentence"]) == ("EHN-ENDED", True)
    assert left.wait(DEADLINE_SECONDS) == -signal.SIGKILL
    end(stranger)
    wait_for(lambda: is_told_alone(deployment, half_dead, stranger), what="the half dead one alone")
    end(half_dead)
    wait_for_state(deployment, "active")
    assert Deployment.objects.get(id=deployment.id).failure is None


def test_memory_that_no_process_is_shown_to_hold_is_told_and_waited_for(
    deployment: Deployment, hold: Hold
) -> None:
    hidden = hold(is_shown=False)
    os.kill(deployment.replicas.get().pid, signal.SIGKILL)
    report = wait_for(lambda: sentence(deployment, "are held"), what="memory that is held")
    assert "8.6 GiB of GPU 0 are held, and this host shows no process that holds them." in report
    assert Device.objects.get(kind="H100").used_by == []
    end(hidden)
    wait_for_state(deployment, "active")


def is_told_alone(deployment: Deployment, one: Any, other: Any) -> bool:
    outcome = sentence(deployment, f"process {one.pid}")
    return bool(outcome) and f"process {other.pid}" not in outcome


def sentence(deployment: Deployment, words: str) -> str:
    """Return why the deployment does not serve, once that has these words in it."""
    deployments_sweep()
    failure: Any = Deployment.objects.get(id=deployment.id).failure or {}
    answer: str = failure.get("sentence", "")
    return answer if words in answer and failure["code"] == "EHD-CARD-IN-USE" else ""


def end(process: "subprocess.Popen[bytes]") -> None:
    process.kill()
    process.wait()
