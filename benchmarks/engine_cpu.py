"""The native engine on a CPU beside Transformers' static batch and its continuous batching.

Ours is the real server process, asked over HTTP. The rivals are `generate` on left-padded batches
of eight in order of arrival, and Transformers' own batcher with eight rows at once; same weights,
same threads, same data type, one run. Runs alternate, so that a busy neighbour hits all three. The
bars compare tokens per CPU second of the process (all its threads, HTTP included), which a shared
machine distorts least; wall-clock figures stand beside them.
"""

import argparse
import random
import sys
import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any

import psutil

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks import report  # noqa: E402
from benchmarks.checkpoints import smollm2  # noqa: E402
from benchmarks.engine_cpu_parts.sides import BATCH, Ours, Request, Rival  # noqa: E402

VOCABULARY = 49_000
BARS = {
    "equal_ratio_cpu_static": report.at_least(0.95),
    "mixed_ratio_cpu_static": report.at_least(1.4),
    "equal_ratio_cpu_continuous": report.at_least(0.95),
    "mixed_ratio_cpu_continuous": report.at_least(0.95),
}
MIXED_PROMPTS, MIXED_ANSWERS = (16, 32, 64), (4, 8, 12, 24)
RIVALS = ("static", "continuous")
UNITS = (("tokens_per_second", "wall"), ("tokens_per_cpu_second", "cpu"))
OURS = "ours"


@dataclass(frozen=True, kw_only=True)
class Measured:
    """Useful tokens per second of wall clock and of CPU."""

    tokens_per_second: float
    tokens_per_cpu_second: float


def main() -> int:
    """Measure, print and give back the exit status."""
    options = _options()
    folder = options.model_dir or smollm2()
    summary = report.Report(as_json=options.json)
    with ExitStack() as open_sides:
        ours = Ours(folder, options.threads, options.dtype)
        open_sides.callback(ours.stop)
        rivals = {kind: Rival(kind, folder, options.threads, options.dtype) for kind in RIVALS}
        for rival in rivals.values():
            open_sides.callback(rival.stop)
            rival.wait_until_ready()
        figures = measure(ours, rivals, full=options.full)
    body = {"threads": options.threads, "dtype": options.dtype}
    versions = {name: version(name) for name in ("torch", "transformers")}
    return summary.end({**figures, **body, "versions": versions}, BARS)


def measure(ours: Ours, rivals: Mapping[str, Rival], *, full: bool) -> dict[str, Any]:
    """Give back every figure by name, ours beside the rivals'."""
    choice = random.Random(7)
    equal_tokens, mixed = (64, BATCH * 6) if full else (48, BATCH * 4)
    # New prompts for each round: ours keeps the beginnings of those that it has seen.
    workloads = {
        "equal": [
            [_request(choice, equal_tokens, equal_tokens) for _ in range(BATCH)]
            for _ in range(7 if full else 1)
        ],
        "mixed": [
            [
                _request(choice, choice.choice(MIXED_PROMPTS), choice.choice(MIXED_ANSWERS))
                for _ in range(mixed)
            ]
            for _ in range(3 if full else 1)
        ],
    }
    sides: dict[str, Ours | Rival] = {OURS: ours, **rivals}
    figures: dict[str, Any] = {"ready_seconds": round(ours.ready_seconds, 2)}
    for name, rounds in workloads.items():
        measured = [
            {side: _timed(process, requests) for side, process in sides.items()}
            for requests in rounds
        ]
        figures |= _figures(name, measured)
    return figures


def _figures(name: str, measured: list[dict[str, Measured]]) -> dict[str, Any]:
    figures = {}
    for unit, suffix in UNITS:
        for side in (OURS, *RIVALS):
            figures[f"{name}_{unit}_{side}"] = round(
                median(getattr(each[side], unit) for each in measured), 1
            )
        for rival in RIVALS:
            ratios = [getattr(each[OURS], unit) / getattr(each[rival], unit) for each in measured]
            figures[f"{name}_ratio_{suffix}_{rival}"] = round(median(ratios), 3)
    return figures


def _timed(side: Ours | Rival, requests: list[Request]) -> Measured:
    process = psutil.Process(side.process.pid)
    cpu_before, wall_before = _cpu_seconds(process), time.perf_counter()
    side.run(requests)
    wall, cpu = time.perf_counter() - wall_before, _cpu_seconds(process) - cpu_before
    tokens = sum(request.max_tokens for request in requests)
    return Measured(tokens_per_second=tokens / wall, tokens_per_cpu_second=tokens / cpu)


def _cpu_seconds(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


def _request(choice: random.Random, prompt: int, answer: int) -> Request:
    ids = [choice.randrange(5, VOCABULARY) for _ in range(prompt)]
    return Request(prompt=ids, max_tokens=answer)


def _options() -> argparse.Namespace:
    parser = report.parser(__doc__, full="longer answers, more rounds")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument(
        "--dtype", choices=("float32", "bfloat16"), default="float32", help="of all three sides"
    )
    parser.add_argument("--model-dir", type=Path, help="default: SmolLM2 from its wheel")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
