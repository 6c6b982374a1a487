"""Without a GPU, the newest kept results are shown, and the exit status says that nothing ran."""

import json
import os
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks/engine_gpu.py"


def test_without_a_device_the_newest_results_are_printed_with_device_and_age(
    tmp_path: Path,
) -> None:
    process = subprocess.run(
        [sys.executable, str(SCRIPT), "--json"],
        env={**os.environ, "PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 3, process.stderr
    results = json.loads(process.stdout)["results"]
    assert {each["what"] for each in results} >= {"build", "native"}
    assert all(each["gpu"] and each["age_days"] >= 0 for each in results)
