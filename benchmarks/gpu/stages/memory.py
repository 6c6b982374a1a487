"""The large shape's memory in the other precisions: vLLM by the product's words, weights made up.

Memory does not depend on what the weights say, and so `--load-format dummy` spares a build of each.
"""

import json
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from benchmarks.gpu.beside_plan import compared, device_of
from benchmarks.gpu.product import Missed, Show, until
from benchmarks.gpu.random_checkpoint import FOLDER
from benchmarks.gpu.stages.building import CONFIG
from controlplane.domain.facts import checkpoints
from controlplane.domain.runtimes import RUNTIMES, Start
from controlplane.domain.spec import parse_text
from workers.runtimes.launchers import LAUNCHERS
from workers.runtimes.ports import free_port

_HOST = "127.0.0.1"
_NOT_WEIGHTS = ("*.json", "*.jinja", "*.txt", "*.model")
_ADDED = ("--load-format", "dummy")
NOTE = (
    "no build: vLLM was started by the words that the product renders for this config, with "
    f"`{' '.join(_ADDED)}` after them"
)


def no_quant(show: Show) -> dict[str, Any]:
    """The shape in bfloat16."""
    return _reported(show, "no_quant", show.data / "checkpoints" / FOLDER)


def fp8_kv(show: Show) -> dict[str, Any]:
    """The shape in FP8 with an FP8 cache, by the files of the artifact in FP8."""
    copies = (show.data / "agent/models").glob("*/config.json")
    size = json.loads((show.data / "checkpoints" / FOLDER / "config.json").read_text())
    for each in copies:
        if json.loads(each.read_text())["hidden_size"] == size["hidden_size"]:
            return _reported(show, "fp8_kv", each.parent)
    raise Missed("no artifact of the large shape was served here", {})


def _reported(show: Show, quantization: str, files: Path) -> dict[str, Any]:
    checkpoint = show.data / "checkpoints" / FOLDER
    text = CONFIG.format(
        name=f"{FOLDER}-{quantization.replace('_', '-')}", folder=FOLDER,
        device=show.device["kind"], length=4096, quantization=quantization, samples=8,
    )  # fmt: skip
    with tempfile.TemporaryDirectory(prefix="eh-shape-") as shape:
        for pattern in _NOT_WEIGHTS:
            for each in files.glob(pattern):
                shutil.copy(each, shape)
        (Path(shape) / "model.safetensors.index.json").unlink(missing_ok=True)
        with _engine(show, _argv(show, text, checkpoint, shape)) as (url, log):
            report = LAUNCHERS["vllm"].read_report(_asker(url), log()) or {}
            lines = log().splitlines()
    return {
        "note": NOTE,
        "config_text": text,
        "memory": compared(show.device, text, checkpoint, report),
        "log": lines[-400:],
    }


def _argv(show: Show, text: str, checkpoint: Path, shape: str) -> list[str]:
    spec = parse_text(text).spec
    assert spec is not None
    config = json.loads((checkpoint / "config.json").read_text())
    weights = sum(each.stat().st_size for each in checkpoint.glob("*.safetensors"))
    start = Start(
        model_dir=shape,
        host=_HOST,
        port=free_port(_HOST),
        python=os.environ["VLLM_PYTHON"],
        threads=8,
        memory_bytes=device_of(show.device).memory_bytes,
    )
    checkpoint_facts = checkpoints.read(config, weight_bytes=weights)
    launch = RUNTIMES["vllm"].render(spec, checkpoint_facts, start)
    return [*launch.argv, *_ADDED]


@contextmanager
def _engine(show: Show, argv: list[str]) -> Iterator[tuple[str, Callable[[], str]]]:
    """Run the engine until it answers; its address, and what it has said so far."""
    show.free_device()
    path = show.data / "logs" / "shape.log"
    with path.open("wb") as output:
        engine = subprocess.Popen(
            argv, stdout=output, stderr=output, start_new_session=True,
            env={**os.environ, "PYTHONPATH": "", "HF_HUB_OFFLINE": "1"},
        )  # fmt: skip

    def log() -> str:
        return path.read_text(errors="replace")

    url = f"http://{_HOST}:{argv[argv.index('--port') + 1]}"
    try:
        until(lambda: engine.poll() is not None or _asker(url)("/health") is not None)
        if engine.poll() is not None:
            raise Missed("the engine ended", {"exit": engine.returncode, "log": log()[-6000:]})
        yield url, log
    finally:
        os.killpg(engine.pid, signal.SIGKILL)
        engine.wait()


def _asker(url: str) -> Callable[[str], bytes | None]:
    def ask(path: str) -> bytes | None:
        try:
            answer = httpx.get(f"{url}{path}", trust_env=False, timeout=5)
        except httpx.TransportError:
            return None
        return answer.content if answer.is_success else None

    return ask
