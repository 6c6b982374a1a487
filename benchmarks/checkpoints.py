"""Real checkpoints that benchmarks share; made once and kept."""

import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def smollm2() -> Path:
    """The converted SmolLM2; made once, about twenty seconds, and kept."""
    folder = Path(tempfile.gettempdir()) / "enginehouse-bench" / "SmolLM2-135M-Instruct"
    if (folder / "config.json").is_file():
        return folder
    command = [sys.executable, "-m", "workers.runtimes.native.gguf_to_hf", "--output", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, stdout=sys.stderr, stderr=subprocess.DEVNULL)
    return folder
