"""What a kill -9 costs a build: any one process, in every step.

Starts a whole Enginehouse with `manage.py up` on a folder of its own and builds a tiny checkpoint,
in FP8 and as it is, whose steps take longer by a little. Kills the build worker in each step (in
`calibrate` with half of the samples done), cancels and kills the step's process in each step, then
both at once, then the servers, and measures the seconds until the state shown is true again:
another worker is at the step, or the build has ended with its cause, or it is a step further. Exit
1 when a bar of the design is missed.
"""

import argparse
import json
import os
import platform
import sys
import tempfile
from pathlib import Path
from typing import Any

_ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(_ROOT))

from benchmarks.recovery_parts.stage import enginehouse  # noqa: E402  (found through the line above)

BARS = {
    "seconds_until_true_max": 15.0,
    "cancelled_seconds_max": 5.0,
    "orphans": 0,
    "half_published": 0,
    "cards_still_held": 0,
    "builds_lost": 0,
}


def main() -> int:
    """Return the exit status: 0 where every bar is met."""
    options = _options()
    with tempfile.TemporaryDirectory(prefix="eh-rec-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        figures = measure(folder, rounds=5 if options.full else 1)
    figures["bars_met"] = all(figures[name] <= bar for name, bar in BARS.items())
    figures["machine"] = (
        f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    )
    figures["command"] = "python benchmarks/recovery.py --json"
    print(json.dumps(figures, indent=1) if options.json else _table(figures))
    return 0 if figures["bars_met"] else 1


def measure(folder: Path, *, rounds: int) -> dict[str, Any]:
    """Return the worst seconds of each kill over the rounds, and what was left behind."""
    counted = ("builds_lost", "orphans", "half_published", "cards_still_held")
    figures: dict[str, Any] = dict.fromkeys(counted, 0)
    with enginehouse(folder) as up:
        # It needs Django's set-up, and that the database's address.
        from benchmarks.recovery_parts import builds

        plain = builds.make_revision(folder, quantizes=False)
        fp8 = builds.make_revision(folder, quantizes=True)
        kills = (
            (builds.kill_workers, fp8),
            (builds.cancel_and_kill_children, fp8),
            (builds.kill_both, plain),
            (builds.kill_unseen, plain),
            (builds.kill_servers, plain),
        )
        for kill, revision in kills * rounds:
            build = builds.start_build(folder, revision)
            for name, seconds in kill(up, build).items():
                figures[name] = max(figures.get(name, 0.0), round(seconds, 2))
            figures["builds_lost"] += builds.end_of(build).state != "succeeded"
            figures["orphans"] += builds.orphans(folder)
            figures["half_published"] += builds.drafts(folder)
            figures["cards_still_held"] += builds.cards_held(build)
    timed = {name: value for name, value in figures.items() if name.endswith("_seconds")}
    return figures | {
        "seconds_until_true_max": max(timed.values()),
        "cancelled_seconds_max": max(
            value for name, value in timed.items() if name.startswith("cancelled_")
        ),
        "load": round(os.getloadavg()[1], 1),
    }


def _table(figures: dict[str, Any]) -> str:
    rows = [f"{name:<44}{value:>8}" for name, value in figures.items() if name not in BARS]
    rows += [f"{name:<44}{figures[name]:>8}   bar {bar:g}" for name, bar in BARS.items()]
    return "\n".join(rows)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--full", action="store_true", help="five rounds instead of one")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
