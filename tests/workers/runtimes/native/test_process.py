"""How an engine process begins and ends."""

import json
import os
import signal
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from tests.gates import Gates
from tests.waiting import DEADLINE_SECONDS, wait_for
from tests.workers.runtimes.native.server import EngineServer, Steps, engine_command
from workers.runtimes.native.process import set_up_threads

pytestmark = [pytest.mark.process, pytest.mark.engine]


def test_sigterm_finishes_what_was_begun_and_exits_0(tiny_folder: Path, tmp_path: Path) -> None:
    options = ("--max-batch-size", "1", "--max-waiting-requests", "1")
    with (
        Gates() as gates,
        EngineServer(
            tiny_folder, log=tmp_path / "log", options=options, environment=gates.environment
        ) as server,
        ThreadPoolExecutor(2) as clients,
    ):
        with Steps(gates) as steps:
            running = clients.submit(_complete, server, tokens=70)
            steps.stand()
            steps.take()
            steps.stand()
            waiting = clients.submit(_complete, server, tokens=70)
            wait_for(lambda: server.requests() == 2, what="the second request to be let in")
            refused = _complete(server, tokens=20)
            server.process.send_signal(signal.SIGTERM)
            wait_for(lambda: not server.listens(), what="the drain to begin")
        assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")
        assert refused.json()["error"]["code"] == "queue_full"
        for answer in (running.result(), waiting.result()):
            assert answer.json()["usage"]["completion_tokens"] == 70
        assert server.process.wait(DEADLINE_SECONDS) == 0


def test_a_taken_port_is_said_at_once(tiny_folder: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        ended = _run(tiny_folder, port=port)
    assert ended.returncode == 2
    assert f"cannot listen on 127.0.0.1:{port}: Address already in use" in ended.stderr


def test_a_folder_that_cannot_be_served_is_said_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").touch()
    (tmp_path / "config.json").write_text(json.dumps({"architectures": ["FunnelModel"]}))
    ended = _run(tmp_path)
    assert ended.returncode == 2
    last = ended.stderr.strip().splitlines()[-1]
    assert last.startswith("ERROR checkpoint refused: ")
    assert "`FunnelModel`" in last


@pytest.mark.parametrize(("device", "tokenizing"), [("cpu", "2"), ("cuda", "3")])
def test_texts_for_a_gpu_become_tokens_on_as_many_cores_as_there_are(
    device: str, tokenizing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: dict[str, str] = {}
    monkeypatch.setattr(os, "environ", given)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _process: {0, 1, 2})
    set_up_threads(2, device=device)
    assert (given["OMP_NUM_THREADS"], given["RAYON_NUM_THREADS"]) == ("2", tokenizing)


def test_a_thread_soon_sleeps_while_it_waits_for_the_others() -> None:
    code = "from workers.runtimes.native import process; process.set_up_threads(2); import torch"
    given = {name: value for name, value in os.environ.items() if not name.startswith("OMP_")}
    started = subprocess.run(
        [sys.executable, "-c", code],
        env=given | {"OMP_DISPLAY_ENV": "VERBOSE"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "GOMP_SPINCOUNT = '2000'" in started.stderr
    assert "OMP_NUM_THREADS = '2'" in started.stderr


def _complete(server: EngineServer, *, tokens: int) -> httpx.Response:
    return server.post("/v1/completions", prompt=[5], max_tokens=tokens, ignore_eos=True)


def _run(folder: Path, *, port: int = 0) -> "subprocess.CompletedProcess[str]":
    command = engine_command(folder, port=port)
    return subprocess.run(
        command, capture_output=True, text=True, timeout=DEADLINE_SECONDS, check=False
    )
