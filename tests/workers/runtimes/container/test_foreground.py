"""The process that stands for a container: its output, its end, and that neither outlives it."""

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.waiting import wait_for
from tests.workers.runtimes.container.conftest import Docker
from tests.workers.runtimes.container.standing import Standing
from workers.runtimes.container.order import Mount

pytestmark = [pytest.mark.process, pytest.mark.recovery]
STAY = "import signal; print('up', flush=True); signal.pause()"
DRAIN = (
    "import signal, sys\n"
    "signal.signal(signal.SIGTERM, lambda *_: (print('drained', flush=True), sys.exit(0)))\n"
    "print('up', flush=True)\nwhile True: signal.pause()"
)


@pytest.fixture
def start(docker: Docker, tmp_path: Path) -> Iterator[Callable[..., Standing]]:
    """Start a Python program in a container."""
    started: list[Standing] = []

    def one(program: str, **changed: Any) -> Standing:
        started.append(Standing(docker, tmp_path, program, **changed))
        return started[-1]

    yield one
    for each in started:
        each.process.kill()
        each.process.wait()
        docker.remove_all(each.instance)


def test_its_output_and_its_status_are_the_engine_s(start: Any) -> None:
    text = "import sys; print('to out'); print('to err', file=sys.stderr); sys.exit(-1)"
    standing = start(text)
    assert standing.end() == 255
    assert "to out" in standing.log
    assert "to err" in standing.log
    assert standing.containers == []
    assert not standing.failure_file.exists()


def test_sigterm_reaches_the_engine_which_drains(start: Any) -> None:
    standing = start(DRAIN)
    standing.until_up()
    standing.process.terminate()
    assert standing.end() == 0
    assert "drained" in standing.log
    assert standing.containers == []


def test_a_killed_process_takes_its_container_with_it(start: Any) -> None:
    standing = start(STAY)
    first = standing.until_up()["State"]["Pid"]
    standing.process.kill()
    standing.process.wait()
    wait_for(lambda: not Path(f"/proc/{first}/exe").exists(), what="the end of the container")
    wait_for(
        lambda: all(each["State"] == "exited" for each in standing.containers),
        what="Docker to see that end",
    )


def test_a_killed_engine_is_told_as_a_killed_process_is(start: Any) -> None:
    standing = start(STAY)
    pid = standing.until_up()["State"]["Pid"]
    os.kill(pid, signal.SIGKILL)
    assert standing.end() == -signal.SIGKILL
    assert standing.containers == []


def test_a_container_removed_by_force_is_told_as_killed(start: Any, docker: Docker) -> None:
    standing = start(STAY)
    standing.until_up()
    docker.remove_all(standing.instance)
    assert standing.end() == -signal.SIGKILL


def test_host_memory_that_ran_out_is_the_cause_that_is_told(start: Any, docker: Docker) -> None:
    standing = start(
        "import sys, time\nprint('up', flush=True)\nwhile True:\n"
        "    time.sleep(0.05)\n    try: held = bytearray(bool(open('/tmp/size').read()) << 28)\n"
        "    except OSError: continue",
    )
    up = standing.until_up()
    limit = 48 * 1024**2
    docker.ask(
        lambda client: client.update_container(up["Id"], mem_limit=limit, memswap_limit=limit)
    )
    Path(f"/proc/{up['State']['Pid']}/root/tmp/size").write_text("large")
    assert standing.end() == 2
    assert standing.failure["code"] == "EHN-DOCKER-OOM"
    assert standing.containers == []


def test_a_name_that_a_stranger_s_container_has_is_told(start: Any, docker: Docker) -> None:
    stranger = docker.ask(
        lambda client: client.create_container(
            docker.image_id, ["true"], name="enginehouse-replica-aaaaa-1"
        )
    )
    try:
        standing = start(STAY)
        assert standing.end() == 2
        assert standing.failure["code"] == "EHN-DOCKER-NAME"
        assert "enginehouse-replica-aaaaa-1" in standing.failure["sentence"]
    finally:
        docker.ask(lambda client: client.remove_container(stranger["Id"]))


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"gpus": ("GPU-1",)}, "EHN-DOCKER-NO-GPU"),
        ({"mounts": (Mount(source="/nowhere", target="/there"),)}, "EHN-DOCKER-FOLDER"),
    ],
)
def test_what_the_engine_cannot_give_is_told(
    start: Any, changed: dict[str, Any], code: str
) -> None:
    standing = start(STAY, **changed)
    assert standing.end() == 2
    assert standing.failure["code"] == code, standing.log
    assert standing.containers == []
