"""Measures this tree's gateway in turns with another tree's, so that both meet the same hour.

    python benchmarks/gateway_turns.py --other=PATH [--json] [--full]

PATH is a checkout of another version. Requests and chunks are those of `gateway.py`, CPU time of
each gateway's process alone; the medians of the turns' ratios count. Bytes spliced are beside them.
"""

import statistics
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import report
from benchmarks.gateway import DIRECT, FAST, HOST, Side, engine, environment, gateway, per_request
from benchmarks.gateway import streams as per_chunk
from benchmarks.gateway_parts.processes import ROOT, child, control_plane, routes
from workers.runtimes.ports import free_port

OURS, OTHER, SPLICE = "this_tree", "other_tree", "bytes_spliced"
BARS = {
    "request_ratio_to_other_tree": report.at_most(1.05),
    "chunk_ratio_to_other_tree": report.at_most(1.05),
}
TURNS, FULL_TURNS = 9, 31
SECONDS = 0.6


def main() -> int:
    parser = report.parser(__doc__, full="more than three times as many turns")
    parser.add_argument("--other", type=Path, required=True, help="a checkout of another version")
    options = parser.parse_args()
    figures = report.Report(as_json=options.json)
    turns = FULL_TURNS if options.full else TURNS
    return figures.end(measure(options.other.resolve(), turns), BARS)


def measure(other: Path, turns: int) -> dict[str, Any]:
    engine_port = free_port(HOST)
    with (
        control_plane(routes(engine_port, engine_port)) as url,
        child(*engine(engine_port), "--chunks=100000", port=engine_port),
        ExitStack() as open_until_end,
    ):
        sides = {
            OURS: _gateway(open_until_end, url, ROOT),
            OTHER: _gateway(open_until_end, url, other),
            SPLICE: _splice(open_until_end, engine_port),
        }
        return _figures(sides, turns)


def _gateway(open_until_end: ExitStack, url: str, tree: Path) -> Side:
    folder = open_until_end.enter_context(tempfile.TemporaryDirectory())
    port = free_port(HOST)
    started = child(
        *gateway(port),
        port=port,
        environment=environment(url, folder) | {"PYTHONPATH": str(tree)},
        tree=tree,
    )
    return Side(pid=open_until_end.enter_context(started), port=port, path=FAST)


def _splice(open_until_end: ExitStack, engine_port: int) -> Side:
    port = free_port(HOST)
    command = ["-m", "benchmarks.gateway_parts.rivals", "splice"]
    options = [f"--port={port}", f"--upstream-port={engine_port}"]
    pid = open_until_end.enter_context(child(*command, *options, port=port))
    return Side(pid=pid, port=port, path=DIRECT)


def _figures(sides: dict[str, Side], turns: int) -> dict[str, Any]:
    for side in sides.values():
        per_request(side, SECONDS)
    requests, chunks = [], []
    for turn in range(turns):
        order = list(sides) if turn % 2 else list(reversed(sides))
        requests.append({name: per_request(sides[name], SECONDS) for name in order})
        chunks.append({name: per_chunk(sides[name], SECONDS)[0] for name in order})
    figures: dict[str, Any] = {"turns": turns}
    for what, measured in (("request", requests), ("chunk", chunks)):
        for name in sides:
            middle = statistics.median(turn[name] for turn in measured)
            figures[f"cpu_microseconds_per_{what}_{name}"] = round(middle, 2)
        for below, name in ((OTHER, OURS), (SPLICE, OURS), (SPLICE, OTHER)):
            ratio = statistics.median(turn[name] / turn[below] for turn in measured)
            named = f"{what}_ratio_to_{below}" + ("" if name == OURS else f"_of_{name}")
            figures[named] = round(ratio, 3)
    return figures


if __name__ == "__main__":
    raise SystemExit(main())
