"""Lookahead under vLLM on one GPU: each side a server of its own, the same requests in one run.

    python -m benchmarks.gpu.lookahead FOLDER [--seconds 400] [--sides ours_63,…] [--shape FOLDER]

Two models. The shape of Qwen3-8B in FP8, whose weights are made up and whose sampler says recorded
answers (`forced_answers.py`): acceptance is that of the recorded texts, a step costs what it costs.
And SmolLM2 with its own weights and answers, on prompts that it copies. V2 of vLLM's model runner
is left as it is: it is measured without drafts alone, where answers do not change the speed.
"""

import argparse
import json
import sys
import tempfile
import time
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.checkpoints import smollm2
from benchmarks.gpu.lookahead_parts.asking import Asked, ask_at_once
from benchmarks.gpu.lookahead_parts.jobs import COPIES, Jobs, recorded_jobs
from benchmarks.gpu.lookahead_parts.servers import SIDES, Server, Side, serve, shape_folder

UNDRAFTED_TOKENS = 512
"""Of each answer where nothing is drafted: the speed is the same, and time is short."""
AT_ONCE = (4, 8)


class Measured:
    """What was measured so far, on the disk."""

    def __init__(self, folder: Path, device: str) -> None:
        self._path = folder / "lookahead.json"
        self._began = time.monotonic()
        self.figures: dict[str, Any] = {
            "what": "lookahead", "device": device, "date": time.strftime("%Y-%m-%d"),
            "command": "benchmarks/gpu/lookahead.sh", "sides": {},
        }  # fmt: skip

    @property
    def seconds(self) -> float:
        """Since the beginning."""
        return time.monotonic() - self._began

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
        tokenizer = smollm2()
        measured = Measured(options.folder, _device())
        jobs = recorded_jobs(tokenizer)
        jobs.write(Path(place) / "answers.json")
        folders = {
            "shape": shape_folder(options.shape, tokenizer, Path(place) / "shape"),
            "small": tokenizer,
        }
        for name in options.sides.split(","):
            if measured.seconds > options.seconds:
                measured.keep(name, {"not_run": f"{options.seconds} s were over"})
                continue
            _measure(name, SIDES[name], folders, Path(place), jobs, measured, options.folder)
    return 0 if any("ready_seconds" in each for each in measured.figures["sides"].values()) else 1


def _measure(
    name: str, side: Side, folders: Mapping[str, Path], place: Path, jobs: Jobs,
    measured: Measured, out: Path,
) -> None:  # fmt: skip
    """Measure one side; a failure is a figure too."""
    try:
        with serve(name, side, folders[side.model], place, out) as server:
            measured.keep(name, {"ready_seconds": server.ready_seconds, "words": server.words})
            figures = _copied(server) if side.model == "small" else _recorded(server, side, jobs)
            for label, found in figures:
                measured.keep(name, {label: found()})
    except Exception:
        measured.keep(name, {"error": traceback.format_exc()[-3000:]})


def _recorded(server: Server, side: Side, jobs: Jobs) -> list[tuple[str, Any]]:
    most = None if side.drafts else UNDRAFTED_TOKENS
    one_percent = [each.cut(most) for each in jobs.edited]

    def asked(chosen: list[Asked]) -> Any:
        return lambda: ask_at_once(server.url, chosen, is_forced=side.is_forced)

    ask_at_once(server.url, [one_percent[0].cut(64)], is_forced=False)  # graphs and kernels
    return [
        *((f"edited_1_percent_{n}", asked([each])) for n, each in enumerate(one_percent[:3])),
        ("unlike", asked([jobs.unlike.cut(UNDRAFTED_TOKENS)])),
        *(() if most else (("verbatim", asked([jobs.verbatim])),)),
        *((f"edited_1_percent_at_once_{many}", asked(one_percent[:many])) for many in AT_ONCE),
    ]


def _copied(server: Server) -> list[tuple[str, Any]]:
    ask_at_once(server.url, [COPIES[0].cut(16)], is_forced=False)
    return [
        (f"copy_{n}", lambda each=each: ask_at_once(server.url, [each], keeps_text=True))
        for n, each in enumerate(COPIES)
    ]


def _device() -> str:
    from workers.agent.nvidia import devices

    return next((str(each["kind"]) for each in devices()), "none")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seconds", type=float, default=400.0)
    parser.add_argument("--sides", default=",".join(SIDES))
    parser.add_argument("--shape", type=Path, help="config.json of another shape, for a rehearsal")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
