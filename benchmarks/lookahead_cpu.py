"""Lookahead in the native engine on a CPU: the same text, sooner; and what verifying costs.

SmolLM2 in float32, one thread. The rival is the same engine without drafts, in turns with it. A
prompt that is copied and one whose answer is like nothing before it; then steps that verify drafts
that are never right, beside steps without any. `manage.py tune_lookahead` predicts by the latter.
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks import report  # noqa: E402
from benchmarks.checkpoints import smollm2  # noqa: E402
from benchmarks.lookahead_parts import engine  # noqa: E402

BARS = {
    "copying_plain_to_drafted_wall": report.at_least(1.5),
    "copying_plain_to_drafted_cpu": report.at_least(1.5),
    "copying_plain_to_drafted_forwards": report.at_least(1.5),
    "unlike_plain_to_drafted_cpu": report.at_least(0.97),
}


def main() -> int:
    """Return the exit status: 0 where every bar is met."""
    options = report.parser(__doc__, full="nothing more").parse_args()
    told = report.Report(as_json=options.json)
    folder = smollm2()
    figures = engine.figures(folder)
    copying, unlike = figures["copying"], figures["unlike"]
    same = copying["is_the_same_text"] and unlike["is_the_same_text"]
    forwards = copying["plain_forwards"] / copying["drafted_forwards"]
    judged = {
        "copying_plain_to_drafted_wall": copying["plain_to_drafted_wall_seconds"],
        "copying_plain_to_drafted_cpu": copying["plain_to_drafted_cpu_seconds"],
        "copying_plain_to_drafted_forwards": round(forwards, 3),
        "unlike_plain_to_drafted_cpu": unlike["plain_to_drafted_cpu_seconds"],
    }
    # Where the texts differ, that is a fault and no speed.
    judged = {name: each if same else 0.0 for name, each in judged.items()}
    costs = engine.verification_costs(folder)
    return told.end({**judged, "verification_to_plain_step": costs, **figures}, BARS)


if __name__ == "__main__":
    sys.exit(main())
