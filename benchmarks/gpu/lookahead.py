"""Lookahead under vLLM on one GPU: each side a server of its own, the same requests in one run.

    python -m benchmarks.gpu.lookahead FOLDER [--seconds 400] [--sides ours_63,…] [--shape FILE]
        [--jobs FILE] [--tokenizer FOLDER] [--small FOLDER] [--through-gateway] [--at-once 1]

The shape of Qwen3-8B in FP8, whose weights are made up and whose sampler says recorded answers
(`forced_answers.py`): acceptance is that of the recorded texts, a step costs what it costs. V2 of
vLLM's model runner is measured without drafts alone, where answers do not change the speed. A tiny
shape answers freely, each row computed alike whatever else is in its step: with drafts and without,
token for token. And SmolLM2, where its folder is given, copies pages with its own weights. With
`--at-once` so many sides start together, which takes long, and are then asked one after another.
"""

import argparse
import json
import subprocess
import sys
import tarfile
import tempfile
import time
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from benchmarks.checkpoints import smollm2
from benchmarks.gpu.lookahead_parts.asking import Asked, ask_at_once
from benchmarks.gpu.lookahead_parts.gateways import behind_gateway
from benchmarks.gpu.lookahead_parts.jobs import Jobs, recorded_jobs
from benchmarks.gpu.lookahead_parts.servers import (
    SIDES,
    Server,
    Side,
    Started,
    model_folders,
    started,
)
from benchmarks.gpu.lookahead_parts.step_times import step_times, step_times_file
from workers.lookahead.vllm_proposer import BREAK_EVEN_TOKENS

UNDRAFTED_TOKENS = 512
"""Of each answer where nothing is drafted: the speed is the same, and time is short."""
FREE_TOKENS = 256
AT_ONCE = (4, 8)
MANY_AT_ONCE = (16,)
MANY_TOKENS = 512
"""Of each answer where so many are asked for; the KV cache that a side has holds them."""


class Measured:
    """What was measured so far, on the disk."""

    def __init__(self, folder: Path, place: Path, device: str, *, through_gateway: bool) -> None:
        self.place, self.through_gateway = place, through_gateway
        self._path = folder / "lookahead.json"
        self._began = time.monotonic()
        self.figures: dict[str, Any] = {
            "what": "lookahead", "gpu": device, "date": time.strftime("%Y-%m-%d"),
            "command": "benchmarks/gpu/lookahead.sh", "through_gateway": through_gateway,
            "break_even_tokens": BREAK_EVEN_TOKENS, "sides": {},
        }  # fmt: skip

    @property
    def seconds(self) -> float:
        """Since the beginning."""
        return time.monotonic() - self._began

    def failed(self) -> list[str]:
        """Return the sides that did not start; together they may have stood in each other's way."""
        sides = self.figures["sides"]
        return [name for name, each in sides.items() if "error" in each and len(each) == 2]

    def keep(self, side: str, found: Mapping[str, Any]) -> None:
        """Write what a side gave so far."""
        self.figures["sides"].setdefault(side, {}).update(found)
        self.figures["took_seconds"] = round(self.seconds, 1)
        self._path.write_text(json.dumps(self.figures, indent=1) + "\n")
        print(f"{self.seconds:.0f} s, {side}: {json.dumps(found)[:600]}", flush=True)


def main() -> int:
    """Return 0 where any side was measured."""
    options = _options()
    options.folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place:
        measured = Measured(
            options.folder, Path(place), device(), through_gateway=options.through_gateway
        )
        tokenizer = options.tokenizer or smollm2()
        jobs = Jobs.read(options.jobs) if options.jobs else recorded_jobs(tokenizer)
        jobs.write_answers(Path(place) / "answers.json")
        folders = model_folders(tokenizer, Path(place), shape=options.shape, small=options.small)
        names = [name for name in options.sides.split(",") if SIDES[name].model in folders]
        for first in range(0, len(names), options.at_once):
            _measure_some(names[first : first + options.at_once], folders, jobs, measured, options)
        _measure_some(measured.failed(), folders, jobs, measured, options)
        _keep_logs(Path(place), options.folder)
    return 0 if any("ready_seconds" in each for each in measured.figures["sides"].values()) else 1


def _measure_some(
    names: Sequence[str], folders: Mapping[str, Path], jobs: Jobs, measured: Measured,
    options: argparse.Namespace,
) -> None:  # fmt: skip
    """Start sides together, and measure one after the other."""
    if measured.seconds > options.seconds:
        for name in names:
            measured.keep(name, {"not_run": f"{options.seconds} s were over"})
        return
    place = measured.place
    with started(names, folders, place) as begun:
        ready = {each.name: _once_ready(each, measured) for each in begun}
        for each in begun:
            if server := ready[each.name]:
                _measure(each, server, jobs, measured)
            each.end()


def _once_ready(begun: Started, measured: Measured) -> Server | None:
    """Return a side's server; where it does not start, that is kept."""
    try:
        server = begun.ready()
    except RuntimeError as error:
        begun.end()
        log = _end_of(measured.place, begun.name)
        measured.keep(begun.name, {"error": str(error), "log": log})
        return None
    measured.figures["sides"].pop(begun.name, None)  # of a first try
    measured.keep(begun.name, {"ready_seconds": server.ready_seconds, "words": server.words})
    return server


def _measure(begun: Started, server: Server, jobs: Jobs, measured: Measured) -> None:
    """Measure one side; a failure is a figure too."""
    name, side = begun.name, begun.side
    try:
        with ExitStack() as running:
            if measured.through_gateway:
                server = running.enter_context(behind_gateway(server))
            for label, outcome in _FIGURES[side.model](server, side, jobs):
                measured.keep(name, {label: outcome()})
        measured.keep(name, {"step_times": step_times(step_times_file(measured.place, name))})
    except Exception:
        log = _end_of(measured.place, name)
        measured.keep(name, {"error": traceback.format_exc()[-3000:], "log": log})


def _end_of(place: Path, name: str) -> list[str]:
    return (place / f"{name}.log").read_text(errors="replace").splitlines()[-40:]


def _keep_logs(place: Path, out: Path) -> None:
    with tarfile.open(out / "logs.tar.gz", "w:gz") as tar:
        for log in sorted(place.glob("*.log")):
            tar.add(log, log.name)


def _recorded(server: Server, side: Side, jobs: Jobs) -> list[tuple[str, Any]]:
    most = None if side.drafts else UNDRAFTED_TOKENS
    one_percent = [each.cut(most) for each in jobs.edited]

    def asked(chosen: list[Asked]) -> Any:
        return lambda: ask_at_once(server, chosen, is_forced=side.is_forced)

    ask_at_once(server, [one_percent[0].cut(64)], is_forced=False)  # graphs and kernels
    return [
        *((f"edited_1_percent_{n}", asked([each])) for n, each in enumerate(one_percent[:3])),
        ("unlike", asked([jobs.unlike.cut(UNDRAFTED_TOKENS)])),
        *(() if most else (("verbatim", asked([jobs.verbatim])),)),
        *((f"edited_1_percent_at_once_{many}", asked(one_percent[:many])) for many in AT_ONCE),
        *(() if _is_ngram(side) else _of_many(jobs, asked)),
    ]


def _is_ngram(side: Side) -> bool:
    return side.drafts and side.speculative["method"] == "ngram"  # type: ignore[index]


def _of_many(jobs: Jobs, asked: Any) -> Iterator[tuple[str, Any]]:
    """Yield figures of so many at once that drafts may no longer pay."""
    short = [each.cut(MANY_TOKENS) for each in jobs.edited]
    for many in MANY_AT_ONCE:
        repeated = (short * many)[:many]
        yield f"edited_1_percent_cut_at_once_{many}", asked(repeated)


def _free(server: Server, side: Side, jobs: Jobs) -> list[tuple[str, Any]]:
    chosen = [each.cut(FREE_TOKENS) for each in [*jobs.edited[:4], jobs.unlike]]
    return [(f"free_{n}", _kept(server, each)) for n, each in enumerate(chosen)]


def _copied(server: Server, side: Side, jobs: Jobs) -> list[tuple[str, Any]]:
    ask_at_once(server, [jobs.copies[0].cut(16)], is_forced=False)
    return [(f"copy_{n}", _kept(server, each)) for n, each in enumerate(jobs.copies)]


def _kept(server: Server, asked: Asked) -> Any:
    return lambda: ask_at_once(server, [asked], is_forced=False, keeps_text=True)


_FIGURES = {"shape": _recorded, "tiny": _free, "small": _copied}


def device() -> str:
    """Return name, memory and driver of the GPU; `none` in a rehearsal."""
    query = ["nvidia-smi", "--query-gpu=name,memory.total,driver_version", "--format=csv,noheader"]
    try:
        process = subprocess.run(query, capture_output=True, text=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError):
        return "none"
    return process.stdout.splitlines()[0].strip()


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seconds", type=float, default=400.0)
    parser.add_argument("--sides", default=",".join(SIDES))
    parser.add_argument(
        "--through-gateway", action="store_true", help="ask at the product's gateway before each"
    )
    parser.add_argument("--at-once", type=int, default=1, help="sides that start together")
    parser.add_argument("--shape", type=Path, help="config.json of another shape, for a rehearsal")
    parser.add_argument("--jobs", type=Path, help="what `lookahead_parts.jobs` wrote")
    parser.add_argument("--tokenizer", type=Path, help="its folder; SmolLM2's otherwise")
    parser.add_argument("--small", type=Path, help="folder of SmolLM2 with its weights")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
