"""What happens to an order before an engine can start."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from controlplane.artifacts import ArtifactStore
from controlplane.domain.facts import checkpoints
from controlplane.domain.spec import parse_text
from tests.tiny_checkpoint import make_tiny_checkpoint
from tests.waiting import DEADLINE_SECONDS
from workers.agent.folders import ReplicaFolder
from workers.runtimes.ports import ports_below_the_kernels

pytestmark = pytest.mark.process
REHEARSAL = Path(__file__).parents[3] / "benchmarks" / "gpu" / "rehearsal"
CONFIG = """\
trt_llm:
  build:
    checkpoint_repository: {source: LOCAL, repo: x}
    max_seq_len: 512
enginehouse: {runtime: native}
"""
ON_H100 = "resources: {accelerator: H100}\n" + CONFIG
DEVICE = "GPU-rehearsal"
ONE_TOKEN = 2 * 2 * 2 * 16  # keys and values of two layers with two heads of sixteen numbers


def test_an_order_for_a_runtime_without_a_launcher_fails_by_its_name(tmp_path: Path) -> None:
    folder = ReplicaFolder(path=tmp_path / "abcde.1")
    folder.path.mkdir()
    folder.write("wanted", {"runtime": "trtllm", "spec": {}, "checkpoint": None})
    folder.write(
        "run",
        {"models_dir": str(tmp_path / "models"), "host": "127.0.0.1", "python": sys.executable},
    )
    command = [sys.executable, "-m", "workers.agent.prepare", str(folder.path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE_SECONDS)
    assert done.returncode == 1, done.stderr
    failure = folder.read("failure")
    assert failure is not None
    assert failure["code"] == "EHN-NO-LAUNCHER"
    assert "`trtllm`" in failure["sentence"]
    assert failure["field"] == "enginehouse.runtime"
    assert not (tmp_path / "models").exists(), "nothing was copied for an engine that cannot start"


@pytest.mark.parametrize(
    ("text", "order", "words", "visible", "number_bytes"),
    [
        (ON_H100, {"devices": [DEVICE]}, ("bfloat16", "--device", "cuda"), DEVICE, 2),
        (CONFIG, {"computes_bfloat16": True}, ("bfloat16",), "", 2),
        (CONFIG, {}, ("float32",), "", 4),
    ],
)
def test_the_native_engine_is_told_what_its_device_computes_in(
    text: str, order: dict[str, Any], words: tuple[str, ...], visible: str, number_bytes: int,
    tmp_path: Path,
) -> None:  # fmt: skip
    folder = ReplicaFolder(path=tmp_path / "abcde.1")
    folder.path.mkdir()
    folder.write("wanted", _wanted(text, tmp_path) | order)
    models, ports = str(tmp_path / "models"), ports_below_the_kernels()
    run = {"models_dir": models, "host": "127.0.0.1", "ports": ports, "threads": 1}
    folder.write("run", run | {"python": sys.executable})
    done = subprocess.run(
        [sys.executable, "-m", "workers.agent.prepare", str(folder.path)],
        env={**os.environ, "PYTHONPATH": str(REHEARSAL), "TMPDIR": str(tmp_path)},
        capture_output=True, text=True, timeout=DEADLINE_SECONDS,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    launch = folder.read("launch")
    assert launch is not None
    argv, at = launch["argv"], launch["argv"].index("--dtype") + 1
    assert tuple(argv[at : at + len(words)]) == words
    assert ("--device" in argv) == ("--device" in words)
    planned = 8 * 512 * ONE_TOKEN * number_bytes
    assert argv[argv.index("--kv-cache-bytes") + 1] == str(planned)
    assert launch["environment"]["CUDA_VISIBLE_DEVICES"] == visible


def _wanted(text: str, tmp_path: Path) -> dict[str, Any]:
    spec = parse_text(text).spec
    assert spec is not None
    checkpoint = make_tiny_checkpoint(tmp_path / "tiny")
    url = (tmp_path / "artifacts").as_uri()
    published = ArtifactStore.open(url).publish(checkpoint, {"format": 1})
    facts = checkpoints.read(
        json.loads((checkpoint / "config.json").read_text()),
        weight_bytes=(checkpoint / "model.safetensors").stat().st_size,
    )
    return {
        "runtime": "native", "spec": spec.model_dump(mode="json"),
        "checkpoint": facts.model_dump(mode="json"), "artifact_url": url,
        "content_digest": published.content_digest, "memory_bytes": 64 * 2**30,
    }  # fmt: skip
