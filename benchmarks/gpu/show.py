"""The stages of `run.sh`, on the product itself; each writes one JSON file and never hides a miss.

`python -m benchmarks.gpu.show --out FOLDER [--data FOLDER] [--stages …] [--seconds N]`
"""

import argparse
import datetime
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path
from typing import Any

from benchmarks.gpu.product import Missed, Show, open_show
from benchmarks.gpu.random_checkpoint import FOLDER, FP8_FOLDER
from benchmarks.gpu.stages import FOR_TWO_DEVICES, STAGES
from workers.agent import nvidia

ROOT = Path(__file__).resolve().parents[2]
_LEAST_SECONDS = 15.0


class OutOfTime(Exception):
    """A stage took longer than its own limit, or than what is left of the whole."""


def main() -> int:
    """Run the stages in order while there is time; 0 where all that ran came through."""
    options = _options()
    signal.signal(signal.SIGALRM, _ring)
    options.out.mkdir(parents=True, exist_ok=True)
    if options.data is not None:
        options.data.mkdir(parents=True, exist_ok=True)
        return _show(options, options.data)
    with tempfile.TemporaryDirectory(prefix="eh-gpu-") as folder:
        Path(folder).chmod(0o755)  # PostgreSQL has a user of its own
        return _show(options, Path(folder))


def _show(options: argparse.Namespace, data: Path) -> int:
    began = time.monotonic()
    failed = 0
    with open_show(data) as show:
        _write(
            options.out, "start", {"seconds": round(time.monotonic() - began, 1), "data": str(data)}
        )
        names = options.stages.split(",")
        if "large_build" in names:
            _begin_weights(show, FOLDER, "random_checkpoint")
        if FOR_TWO_DEVICES.intersection(names):
            _begin_weights(show, FP8_FOLDER, "random_fp8")
        for name in names:
            left = began + options.seconds - time.monotonic()
            if left < _LEAST_SECONDS:
                _write(options.out, name, {"state": "not run", "reason": "no time was left"})
                continue
            failed += _run(name, show, options.out, left)
            _keep_logs(data, options.out)
    return 1 if failed else 0


def _begin_weights(show: Show, name: str, module: str) -> None:
    """Make random weights beside the first stages: they take a disk, and no GPU."""
    folder = show.data / "checkpoints" / name
    if not (folder / "config.json").exists():
        words = [str(folder), str(show.checkpoint)]
        command = [sys.executable, "-m", f"benchmarks.gpu.{module}", *words]
        show.beside[name] = subprocess.Popen(["nice", "-n", "5", *command], text=True)


def _run(name: str, show: Show, out: Path, left: float) -> bool:
    stage, limit = STAGES[name]
    started = time.monotonic()
    signal.setitimer(signal.ITIMER_REAL, min(limit, left))
    try:
        result = {"state": "done", **stage(show)}
    except Exception as error:
        signal.setitimer(signal.ITIMER_REAL, 0)
        seen = dict(error.seen) if isinstance(error, Missed) else _state_of(show, error)
        result = {
            "state": "failed",
            "reason": f"{type(error).__name__}: {error}",
            "seen": seen,
            "trace": traceback.format_exc()[-3000:],
        }
    signal.setitimer(signal.ITIMER_REAL, 0)
    result["stage_seconds"] = round(time.monotonic() - started, 1)
    _write(out, name, result)
    return bool(result["state"] == "failed")


def _state_of(show: Show, error: Exception) -> dict[str, Any]:
    """Return what the last build says of itself, and cancel it where it still runs."""
    try:
        build = show.job._get("builds")["items"][0]
        seen = {"build": show.look_at(build), "log": show.log_of(build)}
        if isinstance(error, OutOfTime) and not build.get("finished_at"):
            show.job._post(f"builds/{build['id']}/cancel", {})
    except Exception as other:
        return {"not told": str(other)}
    return seen


def _ring(number: int, frame: object) -> None:
    raise OutOfTime("its time was up")


def _write(out: Path, name: str, result: dict[str, Any]) -> None:
    content = {"what": name, **_host_summary(), **result}
    (out / f"{name}.json").write_text(json.dumps(content, indent=1, default=str) + "\n")
    print(f"{name}: {json.dumps(result, default=str)[:1200]}", flush=True)


def _host_summary() -> dict[str, Any]:
    return {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "gpu": _device(),
        "command": f"benchmarks/gpu/run.sh {' '.join(sys.argv[1:])}",
        "python": sys.version.split()[0],
    }


def _device() -> str:
    smi = shutil.which("nvidia-smi")
    if smi is None:
        return "none: a rehearsal on a CPU"
    names = "name,memory.total,driver_version"
    command = [smi, f"--query-gpu={names}", "--format=csv,noheader"]
    stdout = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    first, *more = stdout.strip().splitlines() or [""]
    return f"{1 + len(more)} × {first}" if more else first


def _keep_logs(data: Path, out: Path) -> None:
    """Put the raw logs beside the results: the product's own and each engine's."""
    logs = [*data.glob("logs/*.log"), *data.glob("agent/replicas/*/*.log")]
    with (out / "raw.log").open("w") as kept:
        for log in logs:
            words = log.read_text(errors="replace")[-200_000:]
            kept.write(f"==== {log.relative_to(data)}\n{words}\n")


def _of_this_host() -> list[str]:
    """Return the stages that its devices are enough for."""
    has_two = len(nvidia.devices()) > 1
    return [name for name in STAGES if has_two or name not in FOR_TWO_DEVICES]


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--data", type=Path, help="the product's folder; a passing one by itself")
    parser.add_argument("--stages", default=",".join(_of_this_host()))
    parser.add_argument("--seconds", type=float, default=900)
    return parser.parse_args()


if __name__ == "__main__":
    os.chdir(ROOT)
    sys.exit(main())
