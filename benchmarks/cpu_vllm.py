"""A vLLM that answers on the CPU with a tiny model of random weights, started by our own words."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx

from controlplane.domain.rules.examples import LLAMA_8B
from controlplane.domain.runtimes import RUNTIMES, Start
from controlplane.domain.spec import parse_mapping
from controlplane.processes import ports
from tests import tiny_checkpoint

_START_SECONDS = 400
"""Three processes that import torch, one after the other."""
_ON_THE_CPU = {"VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_CPU_OMP_THREADS_BIND": "nobind"}


@contextmanager
def serving_vllm(
    folder: Path, python: str, flag: str, *words: str, collector: str | None = None
) -> Iterator[int]:
    """Yield the port of the vLLM of `python`, started with `flag` and its value as we render them.

    `words` come after the rest.
    """
    # vLLM has no attention on the CPU for heads as narrow as the tests' are.
    tiny_checkpoint.HIDDEN, tiny_checkpoint.HEAD_DIM = 256, 64
    tiny_checkpoint.make_tiny_checkpoint(folder / "model")
    log, reserved = folder / "engine.log", ports.reserved()
    port, launch = ports.port_of(reserved), _launch(python, collector)
    command = [*_command(folder / "model", python, port), *_flag(launch.argv, flag), *words]
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, env=os.environ | dict(launch.environment) | _ON_THE_CPU,
            stdout=output, stderr=output,
        )  # fmt: skip
    try:
        _wait_until_ready(process, port, log)
        yield port
    finally:
        process.terminate()
        process.wait()
        reserved.close()


def version_of(python: str) -> str:
    asked = "import importlib.metadata as m; print(m.version('vllm'))"
    return subprocess.check_output([python, "-c", asked], text=True).strip()


def _command(model: Path, python: str, port: int) -> list[str]:
    return [
        python, "-m", "vllm.entrypoints.cli.main", "serve", str(model), "--port", str(port),
        "--host", "127.0.0.1", "--served-model-name", "tiny", "--max-model-len", "256",
        "--enforce-eager", "--dtype", "float32", "--max-num-seqs", "4",
    ]  # fmt: skip


def _flag(argv: tuple[str, ...], flag: str) -> tuple[str, ...]:
    at = argv.index(flag)
    has_value = at + 1 < len(argv) and not argv[at + 1].startswith("--")
    return argv[at : at + 1 + has_value]


def _launch(python: str, collector: str | None) -> Any:
    spec = parse_mapping(
        {
            "model_name": "tiny",
            "resources": {"accelerator": "H100"},
            "trt_llm": {"build": {"checkpoint_repository": {"source": "HF", "repo": "a/b"}}},
            "enginehouse": {"runtime": "vllm"},
        }
    ).spec
    assert spec is not None
    start = Start(model_dir="/m", host="127.0.0.1", port=1, python=python, threads=1,
                  memory_bytes=80 * 10**9, traces_url=collector)  # fmt: skip
    return RUNTIMES["vllm"].render(spec, LLAMA_8B, start)


def _wait_until_ready(process: "subprocess.Popen[bytes]", port: int, log: Path) -> None:
    patience = time.monotonic() + _START_SECONDS
    while time.monotonic() < patience and process.poll() is None:
        with suppress(httpx.TransportError):
            if httpx.get(f"http://127.0.0.1:{port}/health").is_success:
                return
        time.sleep(0.2)
    sys.exit(f"vLLM ended, or never began:\n{log.read_text()[-12_000:]}")
