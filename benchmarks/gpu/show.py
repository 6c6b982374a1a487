"""The stages of `run.sh`, on the product itself; each writes one JSON file and never hides a miss.

`python -m benchmarks.gpu.show --out FOLDER [--data FOLDER] [--stages …] [--seconds N]`
"""

import argparse
import datetime
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.gpu.stages import STAGES, Show, open_show

ROOT = Path(__file__).resolve().parents[2]


def main() -> int:
    """Run the stages in order while there is time; 0 where all that ran came through."""
    options = _options()
    if options.data is not None:
        options.data.mkdir(parents=True, exist_ok=True)
        return _show(options, options.data)
    with tempfile.TemporaryDirectory(prefix="eh-gpu-") as folder:
        Path(folder).chmod(0o755)  # PostgreSQL has a user of its own
        return _show(options, Path(folder))


def _show(options: argparse.Namespace, data: Path) -> int:
    deadline = time.monotonic() + options.seconds
    failed = 0
    with open_show(data) as show:
        for name in options.stages.split(","):
            if time.monotonic() > deadline - 30:
                _write(options.out, name, {"state": "not run", "reason": "no time was left"})
                continue
            failed += _run(name, STAGES[name], show, options.out)
        _keep_logs(data, options.out)
    return 1 if failed else 0


def _run(name: str, stage: Callable[[Show], dict[str, Any]], show: Show, out: Path) -> bool:
    started = time.monotonic()
    try:
        result = {"state": "done", **stage(show)}
    except Exception as error:
        result = {
            "state": "failed",
            "reason": f"{type(error).__name__}: {error}",
            "trace": traceback.format_exc()[-3000:],
        }
    result["stage_seconds"] = round(time.monotonic() - started, 1)
    _write(out, name, result)
    return result["state"] == "failed"


def _write(out: Path, name: str, result: dict[str, Any]) -> None:
    content = {"what": name, **_circumstances(), **result}
    (out / f"{name}.json").write_text(json.dumps(content, indent=1, default=str) + "\n")
    print(f"{name}: {json.dumps(result, default=str)[:1500]}", flush=True)


def _circumstances() -> dict[str, Any]:
    names = "name,memory.total,driver_version"
    smi = shutil.which("nvidia-smi")
    card = (
        subprocess.check_output(
            [smi, f"--query-gpu={names}", "--format=csv,noheader"], text=True
        ).strip()
        if smi
        else "none: a rehearsal on a CPU"
    )
    return {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "card": card,
        "command": f"benchmarks/gpu/run.sh {' '.join(sys.argv[1:])}",
        "python": sys.version.split()[0],
    }


def _keep_logs(data: Path, out: Path) -> None:
    """Put the raw logs beside the results: the product's own and each engine's."""
    logs = [*data.glob("logs/*.log"), *data.glob("agent/replicas/*/engine.log")]
    with (out / "raw.log").open("w") as kept:
        for log in logs:
            kept.write(
                f"==== {log.relative_to(data)}\n{log.read_text(errors='replace')[-200_000:]}\n"
            )


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--data", type=Path, help="the product's folder; a passing one by itself")
    parser.add_argument("--stages", default=",".join(STAGES))
    parser.add_argument("--seconds", type=float, default=560)
    return parser.parse_args()


if __name__ == "__main__":
    os.chdir(ROOT)
    sys.exit(main())
