"""Make the checkpoints on any machine, or ask vLLM for them on a GPU.

python -m benchmarks.gpu.formats make FOLDER [--cases fp8,…]
python -m benchmarks.gpu.formats ask FOLDER --out OUT [--cases fp8,…] [--at-once 7]
"""

import argparse
import datetime
import json
import os
import subprocess
import sys
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from benchmarks.gpu.formats.asking import ask_all
from benchmarks.gpu.formats.cases import CASES


def main() -> int:
    """Exit 1 where an engine did not load what the product would have it load."""
    options = _options()
    names = options.cases.split(",") if options.cases else list(CASES)
    if options.verb == "make":
        from benchmarks.gpu.formats.making import make

        make(options.folder, names)
        return 0
    options.out.mkdir(parents=True, exist_ok=True)
    cases = ask_all(options.folder, options.out, names, options.at_once)
    result = {
        "what": "formats", "state": _state(cases), "gpu": _gpu(), "vllm": _version(),
        "command": _command(options), "cases": cases,
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
    }  # fmt: skip
    (options.out / "formats.json").write_text(json.dumps(result, indent=1) + "\n")
    with tarfile.open(options.out / "logs.tar.gz", "w:gz") as logs:
        for log in sorted(options.out.glob("*.log")):
            logs.add(log, log.name)
            log.unlink()
    for name, each in cases.items():
        print(name, {key: value for key, value in each.items() if key in _SHOWN}, flush=True)
    return 0 if all(each["loads"] for each in cases.values()) else 1


def _state(cases: Mapping[str, Any]) -> str:
    """Return how the stage ended, as other stages say it."""
    return "done" if all(each["loads"] for each in cases.values()) else "failed"


_SHOWN = ("loads", "seconds_until_ready", "error", "tokens", "same", "first_tokens_same",
          "largest_difference", "gaps_where_they_part", "cosines_to_native")  # fmt: skip


def _command(options: argparse.Namespace) -> str:
    cases = f" --cases {options.cases}" if options.cases else ""
    return (
        "benchmarks/gpu/formats.sh --out <results> --checkpoints <checkpoints>"
        f" --at-once {options.at_once}{cases}"
    )


def _gpu() -> str:
    question = "--query-gpu=name,memory.total,driver_version"
    words = ["nvidia-smi", question, "--format=csv,noheader"]
    try:
        return subprocess.check_output(words, text=True).strip()
    except OSError:
        return "none"


def _version() -> str:
    words = [os.environ["VLLM_PYTHON"], "-c", "import vllm; print(vllm.__version__)"]
    parts = subprocess.run(words, capture_output=True, text=True, check=False).stdout.split()
    return parts[-1] if parts else "unknown"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("verb", choices=("make", "ask"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--out", type=Path, default=Path("formats-out"))
    parser.add_argument("--cases", default="")
    parser.add_argument("--at-once", type=int, default=7)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
