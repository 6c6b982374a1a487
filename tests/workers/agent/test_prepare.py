"""What happens to an order before an engine can start."""

import subprocess
import sys
from pathlib import Path

from workers.agent.folders import ReplicaFolder


def test_an_order_for_a_runtime_without_a_launcher_fails_by_its_name(tmp_path: Path) -> None:
    folder = ReplicaFolder(path=tmp_path / "abcde.1")
    folder.path.mkdir()
    folder.write("wanted", {"runtime": "trtllm", "spec": {}, "checkpoint": None})
    folder.write(
        "run",
        {"models_dir": str(tmp_path / "models"), "host": "127.0.0.1", "python": sys.executable},
    )
    command = [sys.executable, "-m", "workers.agent.prepare", str(folder.path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1, done.stderr
    failure = folder.read("failure")
    assert failure is not None
    assert failure["code"] == "EHN-NO-LAUNCHER"
    assert "`trtllm`" in failure["sentence"]
    assert failure["field"] == "enginehouse.runtime"
    assert not (tmp_path / "models").exists(), "nothing was copied for an engine that cannot start"
