"""What a kill -9 costs a build: any one process, in every step.

Starts a whole Enginehouse with `manage.py up` on a folder of its own and builds a tiny checkpoint,
in FP8 and as it is, whose steps stand at gates until they have been harmed. Kills the build worker
in each step (in `calibrate` with half of the samples done), cancels and kills the step's process in
each step, then both at once, then the servers; stops workers, with and without a word. Measures the
seconds until the state is true again: another worker's process is at the step, or the build has
ended with its cause, or it is a step further. They are wall clock, for the product waits in them;
the bars are the design's promises. Exit 1 when one is missed.
"""

import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import report
from benchmarks.recovery_parts.one_step import cancel_steps
from benchmarks.recovery_parts.stage import enginehouse
from benchmarks.web_process import data_folder

BARS = {
    "true_state_seconds_max": report.at_most(15),
    "cancelled_seconds_max": report.at_most(5),
    "cancel_seen_seconds_max": report.at_most(2),
    "given_back_seconds_max": report.at_most(6),
    "step_cancelled_polite_seconds": report.at_most(2),
    "step_cancelled_deaf_seconds": report.at_most(5),
    "orphans": report.at_most(0),
    "half_published": report.at_most(0),
    "cards_still_held": report.at_most(0),
    "builds_lost": report.at_most(0),
}
_KINDS = ("cancelled", "cancel_seen", "given_back")
"""What a harm's name begins with, where its bar is another than that of the true state."""


def main() -> int:
    """Return the exit status: 0 where every bar is met."""
    options = report.parser(__doc__, full="five rounds instead of one").parse_args()
    told = report.Report(as_json=options.json)
    with data_folder("rec") as folder:
        figures = measure(folder, rounds=5 if options.full else 1)
    return told.end(figures, BARS)


def measure(folder: Path, *, rounds: int) -> dict[str, Any]:
    """Return the worst seconds of each harm over the rounds, and what was left behind."""
    steps = {name: round(value, 2) for name, value in cancel_steps(folder).items()}
    with enginehouse(folder) as stage:
        # It needs Django's set-up, and that the database's address.
        from benchmarks.recovery_parts import builds

        plain = builds.make_revision(folder, quantizes=False)
        fp8 = builds.make_revision(folder, quantizes=True)
        harms = (
            (builds.kill_workers, fp8),
            (builds.cancel_and_kill_children, fp8),
            (builds.cancel_in_the_queue_for_cards, fp8),
            (builds.kill_both, plain),
            (builds.kill_unseen, plain),
            (builds.stop_workers, plain),
            (builds.restart_broker, plain),
            (builds.kill_servers, plain),
        )
        seconds: dict[str, float] = {}
        left: Counter[str] = Counter()
        for harm, revision in harms * rounds:
            build = builds.start_build(folder, revision)
            for name, value in harm(stage, build).items():
                seconds[name] = max(seconds.get(name, 0.0), round(value, 2))
            with stage.open_gates():
                left["builds_lost"] += builds.end_of(build).state != "succeeded"
            left["orphans"] += builds.orphans(folder)
            left["half_published"] += builds.drafts(folder)
            left["cards_still_held"] += builds.cards_held(build)
    return {**_worst_by_kind(seconds), **steps, **left, "harms": seconds}


def _worst_by_kind(seconds: Mapping[str, float]) -> dict[str, float]:
    worst = dict.fromkeys(("true_state", *_KINDS), 0.0)
    for name, value in seconds.items():
        kind = next((each for each in _KINDS if name.startswith(f"{each}_")), "true_state")
        worst[kind] = max(worst[kind], value)
    return {f"{kind}_seconds_max": value for kind, value in worst.items()}


if __name__ == "__main__":
    sys.exit(main())
