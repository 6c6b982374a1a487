"""How fast and how small Enginehouse starts on one machine.

Measures `manage.py up` on a fresh folder and again on the same one: seconds until the first page
answers, and the memory (PSS) of the idle processes. Exit 1 when a bar of the design is missed.
"""

import argparse
import json
import os
import platform
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import psutil

_ROOT = Path(__file__).resolve().parents[1]
_BARS = {
    "first_page_fresh_seconds": 10.0,
    "first_page_again_seconds": 5.0,
    "web_pss_megabytes": 180.0,
    "all_idle_pss_megabytes": 800.0,
}
_SETTLE_SECONDS = 8.0


def main() -> int:
    """Return the exit status: 0 where every bar is met."""
    options = _options()
    with tempfile.TemporaryDirectory(prefix="eh-startup-") as folder:
        Path(folder).chmod(0o755)
        figures = measure(Path(folder))
    figures["bars_met"] = all(figures[name] <= bar for name, bar in _BARS.items())
    figures["machine"] = (
        f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    )
    figures["command"] = "python benchmarks/startup.py --json"
    print(json.dumps(figures, indent=1) if options.json else _table(figures))
    return 0 if figures["bars_met"] else 1


def measure(folder: Path) -> dict[str, Any]:
    """Return the figures of a fresh start and of a second one."""
    process, fresh = _start(folder)
    _stop(process)
    process, again = _start(folder)
    time.sleep(_SETTLE_SECONDS)
    sizes = _sizes(process)
    _stop(process)
    return {
        "first_page_fresh_seconds": round(fresh, 2),
        "first_page_again_seconds": round(again, 2),
        "web_pss_megabytes": round(sizes["web"], 1),
        "all_idle_pss_megabytes": round(sum(sizes.values()), 1),
        "pss_megabytes_by_process": {name: round(size, 1) for name, size in sizes.items()},
    }


def _start(folder: Path) -> tuple["subprocess.Popen[bytes]", float]:
    started = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "manage.py", "up"],
        cwd=_ROOT,
        env={**os.environ, "DATA_DIR": str(folder)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    note = folder / "run" / "services.json"
    while time.monotonic() - started < 60:
        if note.exists() and _answers(json.loads(note.read_text())["public_url"]):
            return process, time.monotonic() - started
        time.sleep(0.02)
    _stop(process)
    raise SystemExit("No page within 60 s.")


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/", timeout=5) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def _sizes(up: "subprocess.Popen[bytes]") -> dict[str, float]:
    parent = psutil.Process(up.pid)
    sizes = {"up": _pss_megabytes(parent)}
    for child in parent.children():
        family = [child, *child.children(recursive=True)]
        name = _name(" ".join(child.cmdline()))
        sizes[name] = sizes.get(name, 0.0) + sum(map(_pss_megabytes, family))
    return sizes


def _name(command: str) -> str:
    marks = {
        "controlplane.processes.web": "web",
        "workers.gateway": "gateway",
        "workers.agent": "agent",
        "controlplane.celery beat": "scheduler",
        "-Q control": "control",
        "-Q build": "build",
        "valkey": "valkey",
        "postgres": "postgres",
    }
    return next((name for mark, name in marks.items() if mark in command), "other")


def _pss_megabytes(process: psutil.Process) -> float:
    try:
        return float(process.memory_full_info().pss) / 1e6
    except psutil.NoSuchProcess:
        return 0.0


def _stop(process: "subprocess.Popen[bytes]") -> None:
    process.send_signal(signal.SIGINT)
    process.wait(60)


def _table(figures: dict[str, Any]) -> str:
    rows = [f"{name:<28}{figures[name]:>10}   bar {bar:g}" for name, bar in _BARS.items()]
    rows += [
        f"  {name:<26}{size:>10}" for name, size in figures["pss_megabytes_by_process"].items()
    ]
    return "\n".join([*rows, f"bars met: {figures['bars_met']}", figures["machine"]])


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--full", action="store_true", help="the same here: one form is enough")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
