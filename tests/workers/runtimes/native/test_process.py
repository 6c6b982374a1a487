"""How an engine process begins and ends."""

import json
import signal
import socket
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.workers.runtimes.native.server import (
    EngineServer,
    engine_command,
    free_port,
    wait_until,
)

pytestmark = pytest.mark.engine


def test_sigterm_finishes_what_was_begun_and_exits_0(tiny_folder: Path, tmp_path: Path) -> None:
    options = ("--max-batch-size", "1", "--max-waiting-requests", "1")
    ask = {"prompt": [5], "max_tokens": 100, "ignore_eos": True}
    with (
        EngineServer(
            tiny_folder, log=tmp_path / "log", step_delay_seconds=0.02, options=options
        ) as server,
        ThreadPoolExecutor(2) as clients,
    ):
        running = clients.submit(server.post, "/v1/completions", **ask)
        wait_until(lambda: server.metric("engine_requests_running") == 1)
        waiting = clients.submit(server.post, "/v1/completions", **ask)
        wait_until(lambda: server.metric("engine_requests_waiting") == 1)
        refused = server.post("/v1/completions", **ask)
        assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")
        assert refused.json()["error"]["code"] == "queue_full"
        server.process.send_signal(signal.SIGTERM)
        for answer in (running.result(), waiting.result()):
            assert answer.json()["usage"]["completion_tokens"] == 100
        assert server.process.wait(timeout=30) == 0


def test_a_taken_port_is_said_at_once(tiny_folder: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        ended = _run(tiny_folder, port)
    assert ended.returncode == 2
    assert f"cannot listen on 127.0.0.1:{port}: Address already in use" in ended.stderr


def test_a_folder_that_cannot_be_served_is_said_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").touch()
    (tmp_path / "config.json").write_text(json.dumps({"architectures": ["AlbertModel"]}))
    ended = _run(tmp_path, free_port())
    assert ended.returncode == 2
    last = ended.stderr.strip().splitlines()[-1]
    assert last.startswith("ERROR checkpoint refused: ")
    assert "`AlbertModel`" in last


def _run(folder: Path, port: int) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        engine_command(folder, port), capture_output=True, text=True, timeout=90, check=False
    )
