"""How fast and how small Enginehouse starts on one machine.

Measures `manage.py up` on a fresh folder and again on the same one: seconds until the first page
answers, and the memory (PSS) of the idle processes. The start is compared with `django.setup()` and
one request for that page in one new process on a database that is filled already, twice before the
fresh start and twice after it; their median counts. Exit 1 when a bar of the design is missed.
"""

import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from statistics import median
from typing import Any

import psutil

_ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(_ROOT))

from benchmarks import report  # noqa: E402  (found through the line above)
from benchmarks.web_process import data_folder, database  # noqa: E402

BARS = {
    "first_page_fresh_ratio_to_one_process": report.at_most(4),
    "web_pss_megabytes": report.at_most(180),
    "all_idle_pss_megabytes": report.at_most(800),
}
_SETTLE_SECONDS = 8.0
_START_SECONDS = 120.0
_PAGE = "/sign-in/"
_ONE_PROCESS = f"""
import django
django.setup()
from django.test import Client
answer = Client(SERVER_NAME="localhost").get({_PAGE!r})
assert answer.status_code == 200, answer
"""


def main() -> int:
    """Return the exit status: 0 where every bar is met."""
    options = report.parser(__doc__, full="three fresh starts, the median counts").parse_args()
    figures = report.Report(as_json=options.json)
    return figures.end(measure(3 if options.full else 1), BARS)


def measure(rounds: int) -> dict[str, Any]:
    """Return the figures of fresh starts and of second ones, in turns with the one process."""
    with data_folder("rival") as folder, database(folder) as url:
        rival = {"DATA_DIR": str(folder), "DATABASE_URL": url}
        _manage(rival, "migrate")
        _manage(rival, "collectstatic", "--no-input")
        _one_process_seconds(rival)  # The first one compiles.
        turns = [_turn(rival) for _ in range(rounds)]
    return _median_of(turns)


def _turn(rival: dict[str, str]) -> dict[str, Any]:
    with data_folder("startup") as folder:
        one = _one_process_seconds(rival)
        process, fresh = _start(folder)
        _stop(process)
        one = median([*one, *_one_process_seconds(rival)])
        process, again = _start(folder)
        time.sleep(_SETTLE_SECONDS)
        sizes = _sizes(process)
        _stop(process)
    return {
        "first_page_fresh_ratio_to_one_process": round(fresh / one, 2),
        "first_page_again_ratio_to_one_process": round(again / one, 2),
        "first_page_fresh_seconds": round(fresh, 2),
        "first_page_again_seconds": round(again, 2),
        "one_process_seconds": round(one, 2),
        "web_pss_megabytes": round(sizes["web"], 1),
        "all_idle_pss_megabytes": round(sum(sizes.values()), 1),
        "pss_megabytes_by_process": {name: round(size, 1) for name, size in sizes.items()},
    }


def _median_of(turns: list[dict[str, Any]]) -> dict[str, Any]:
    last = turns[-1]
    return {
        name: value if isinstance(value, dict) else median(turn[name] for turn in turns)
        for name, value in last.items()
    }


def _one_process_seconds(environment: dict[str, str]) -> list[float]:
    return [_seconds_of([sys.executable, "-c", _ONE_PROCESS], environment) for _ in range(2)]


def _manage(environment: dict[str, str], *words: str) -> None:
    _seconds_of([sys.executable, "manage.py", *words, "--verbosity=0"], environment)


def _seconds_of(command: list[str], environment: dict[str, str]) -> float:
    settings = {"DJANGO_SETTINGS_MODULE": "controlplane.settings"}
    started = time.monotonic()
    subprocess.run(command, cwd=_ROOT, env={**os.environ, **settings, **environment}, check=True)
    return time.monotonic() - started


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
    while time.monotonic() - started < _START_SECONDS:
        if note.exists() and _answers(json.loads(note.read_text())["public_url"]):
            return process, time.monotonic() - started
        time.sleep(0.02)
    _stop(process)
    raise SystemExit(f"No page within {_START_SECONDS:.0f} s.")


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
        "controlplane.beat beat": "scheduler",
        "-Q control": "control",
        "-Q async": "async",
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


if __name__ == "__main__":
    sys.exit(main())
