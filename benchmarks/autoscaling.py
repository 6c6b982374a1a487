"""Sizes by load on shapes of traffic, beside the formula alone with replicas that start at once.

The simulator's clock is its own, so every figure is the same on any machine. The rival is the
documented formula itself, decided each second, whose replicas cost no start and are never kept.
"""

import sys
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

sys.path[0] = str(Path(__file__).resolve().parents[1])

from benchmarks import report  # noqa: E402
from benchmarks.autoscaling_parts.shapes import DAY_SECONDS, recorded, shapes  # noqa: E402
from controlplane.domain.scaling.settings import ScalingSettings  # noqa: E402
from controlplane.domain.scaling.simulation import Outcome, World, simulate  # noqa: E402

SETTINGS = ScalingSettings(max_replica=20, concurrency_target=10)
"""The documented defaults, but for room to grow."""
WORLDS: Mapping[str, World] = {
    "plain": World(),
    "slow_starts": World(start_seconds=900),
    "failing_starts": World(start_fails=lambda number, now: number % 3 != 0),
    "lost_signal": World(signal_is_lost=lambda now: now % 3600 < 600),
    "two_deciders": World(deciders=2),
}
"""Starts take two minutes; two of three fail; no gateway speaks for ten minutes of each hour."""
_HOUR_SECONDS = 3600
BARS = {
    "steady_plain_replica_hours_to_formula": report.at_most(1.5),
    "day_plain_replica_hours_to_formula": report.at_most(1.3),
    "day_plain_waited_percent": report.at_most(1.0),
    "edge_plain_changes": report.at_most(2),
    "silence_cold_starts": report.at_most(0),
    "rare_plain_cold_starts_to_requests": report.at_most(1.0),
    "two_deciders_different": report.at_most(0),
    "lowered_while_the_signal_was_lost": report.at_most(0),
    "turns_plain": report.at_most(2),
}


def main() -> int:
    """Simulate, print and give back the exit status."""
    options = report.parser(__doc__, full="whole days too").parse_args()
    figures = report.Report(as_json=options.json)
    shown = {
        name: traffic
        for name, traffic in {**recorded(), **shapes()}.items()
        if options.full or len(traffic.arrivals) < DAY_SECONDS
    }
    table = {
        (shape, name): simulate(SETTINGS, traffic, world)
        for shape, traffic in shown.items()
        for name, world in WORLDS.items()
    }
    return figures.end(_figures(table, is_full=options.full), BARS)


def _figures(found: Mapping[tuple[str, str], Outcome], *, is_full: bool) -> dict[str, Any]:
    day = _short(found["day", "plain"]) if is_full else {}
    rare = found["rare", "plain"] if is_full else None
    names = dict.fromkeys(shape for shape, _ in found)
    return {
        "steady_plain_replica_hours_to_formula": _short(found["steady", "plain"])["to_formula"],
        "day_plain_replica_hours_to_formula": day.get("to_formula"),
        "day_plain_waited_percent": day.get("waited_percent"),
        "edge_plain_changes": found["edge", "plain"].changes,
        "silence_cold_starts": sum(found["silence", name].cold_starts for name in WORLDS),
        "rare_plain_cold_starts_to_requests": rare and rare.cold_starts / rare.requests,
        "two_deciders_different": sum(
            int(found[name, "plain"] != found[name, "two_deciders"]) for name in names
        ),
        "lowered_while_the_signal_was_lost": sum(
            _lowered(found[name, "lost_signal"].sizes) for name in names
        ),
        "largest_by_failing_starts_to_plain": max(
            found[name, "failing_starts"].highest / found[name, "plain"].highest for name in names
        ),
        "turns_plain": sum(found[name, "plain"].turns for name in names),
        **{f"{shape} {world}": _short(each) for (shape, world), each in found.items()},
    }


def _lowered(sizes: Sequence[int]) -> int:
    """Return how often the size fell while nobody said what is in flight."""
    lost = WORLDS["lost_signal"].signal_is_lost
    pairs = enumerate(pairwise(sizes), start=1)
    return sum(int(after < before and lost(at) and lost(at - 1)) for at, (before, after) in pairs)


def _short(outcome: Outcome) -> dict[str, Any]:
    formula = outcome.formula_replica_seconds
    return {
        "requests": outcome.requests,
        "waited_percent": round(100 * outcome.waited / max(1, outcome.requests), 2),
        "longest_wait_seconds": outcome.longest_wait_seconds,
        "replica_hours": round(outcome.replica_seconds / _HOUR_SECONDS, 1),
        "to_formula": round(outcome.replica_seconds / formula, 2) if formula else None,
        "cold_starts": outcome.cold_starts,
        "starts": outcome.starts,
        "changes": outcome.changes,
        "turns": outcome.turns,
        "most_replicas": outcome.highest,
    }


if __name__ == "__main__":
    sys.exit(main())
