"""The native engine on a CPU beside Transformers' static batch, same weights and threads.

Ours is the real server process, asked over HTTP; the rival is `generate` on left-padded batches
of eight in order of arrival. Runs alternate, so that a busy neighbour hits both. The bars compare
tokens per CPU second of the process (all its threads, HTTP included), which a shared machine
distorts least; wall-clock figures stand beside them.
"""

import argparse
import json
import os
import platform
import random
import socket
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from http.client import HTTPConnection
from pathlib import Path
from statistics import median
from typing import Any

import psutil

ROOT = Path(__file__).resolve().parents[1]
BATCH = 8
VOCABULARY = 49_000
EQUAL_BAR, MIXED_BAR, READY_BAR_SECONDS = 0.95, 1.4, 12.0
MIXED_PROMPTS, MIXED_ANSWERS = (16, 32, 64), (4, 8, 12, 24)
RIVAL = """
import json, sys, time
import torch, transformers
folder, threads = sys.argv[1], int(sys.argv[2])
torch.set_num_threads(threads)
model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
model.generation_config.eos_token_id = None
def batch(requests):
    width = max(len(r["prompt"]) for r in requests)
    pads = [width - len(r["prompt"]) for r in requests]
    ids = torch.tensor([[0] * p + r["prompt"] for p, r in zip(pads, requests)])
    mask = torch.tensor([[0] * p + [1] * (width - p) for p in pads])
    model.generate(ids, attention_mask=mask, do_sample=False, pad_token_id=0,
                   max_new_tokens=max(r["max_tokens"] for r in requests))
print("ready", flush=True)
for line in sys.stdin:
    requests = json.loads(line)
    for first in range(0, len(requests), 8):
        batch(requests[first:first + 8])
    print("done", flush=True)
"""


@dataclass(frozen=True, kw_only=True)
class Request:
    """One request: token ids in, exactly so many tokens out."""

    prompt: list[int]
    max_tokens: int


@dataclass(frozen=True, kw_only=True)
class Measured:
    """Useful tokens per second of wall clock and of CPU."""

    tokens_per_second: float
    tokens_per_cpu_second: float


class Ours:
    """The engine's server process."""

    def __init__(self, folder: Path, threads: int) -> None:
        self.port = _free_port()
        command = [
            sys.executable, "-m", "workers.runtimes.native", "--model-dir", str(folder),
            "--port", str(self.port), "--threads", str(threads), "--dtype", "float32",
            "--max-batch-size", str(BATCH), "--max-seq-len", "2048",
            "--kv-cache-bytes", str(1 << 29),
        ]  # fmt: skip
        started = time.monotonic()
        self.process = subprocess.Popen(
            command, cwd=ROOT, env=_environment(threads), stderr=subprocess.DEVNULL
        )
        self._wait_until_ready()
        self.ready_seconds = time.monotonic() - started

    def run(self, requests: list[Request]) -> None:
        """Send everything at once and wait for all answers."""
        with ThreadPoolExecutor(len(requests)) as clients:
            list(clients.map(self._ask, requests))

    def stop(self) -> None:
        """End the server."""
        self.process.terminate()
        self.process.wait(timeout=30)

    def _ask(self, request: Request) -> None:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=300)
        body = json.dumps({**asdict(request), "temperature": 0, "ignore_eos": True})
        connection.request("POST", "/v1/completions", body)
        answer = json.load(connection.getresponse())
        connection.close()
        if answer["usage"]["completion_tokens"] != request.max_tokens:
            raise RuntimeError(f"asked for {request.max_tokens} tokens, got {answer['usage']}")

    def _wait_until_ready(self) -> None:
        while self.process.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
            except OSError:
                time.sleep(0.02)
            else:
                return
        raise RuntimeError(f"the engine ended with {self.process.returncode} before it was ready")


class Rival:
    """Transformers' `generate` in a process of its own."""

    def __init__(self, folder: Path, threads: int) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", RIVAL, str(folder), str(threads)],
            env=_environment(threads), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip
        self._expect("ready")

    def run(self, requests: list[Request]) -> None:
        """Hand the requests over and wait until all batches are through."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps([asdict(request) for request in requests]) + "\n")
        self.process.stdin.flush()
        self._expect("done")

    def stop(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.communicate()

    def _expect(self, word: str) -> None:
        assert self.process.stdout is not None
        line = self.process.stdout.readline().strip()
        if line != word:
            raise RuntimeError(f"the rival said {line!r} where {word!r} was due")


def main() -> int:
    """Measure, print and give back the exit status."""
    options = _options()
    folder = options.model_dir or _smollm2()
    ours = Ours(folder, options.threads)
    rival = Rival(folder, options.threads)
    try:
        figures = measure(ours, rival, full=options.full)
    finally:
        ours.stop()
        rival.stop()
    bars_met = (
        figures["equal_ratio_cpu"] >= EQUAL_BAR
        and figures["mixed_ratio_cpu"] >= MIXED_BAR
        and figures["ready_seconds"] <= READY_BAR_SECONDS
    )
    report = {
        **figures,
        "bars": {"equal_ratio_cpu": EQUAL_BAR, "mixed_ratio_cpu": MIXED_BAR,
                 "ready_seconds": READY_BAR_SECONDS},
        "bars_met": bars_met,
        "threads": options.threads,
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}",
        "command": " ".join(["python", *sys.argv]),
    }  # fmt: skip
    print(json.dumps(report) if options.json else _table(report))
    return 0 if bars_met else 1


def measure(ours: Ours, rival: Rival, *, full: bool) -> dict[str, Any]:
    """Give back every figure by name, ours beside the rival's."""
    choice = random.Random(7)
    equal_tokens = 64 if full else 24
    workloads = {
        "equal": [_request(choice, equal_tokens, equal_tokens) for _ in range(BATCH)],
        "mixed": [
            _request(choice, choice.choice(MIXED_PROMPTS), choice.choice(MIXED_ANSWERS))
            for _ in range(BATCH * (6 if full else 2))
        ],
    }
    rounds = {"equal": 7 if full else 3, "mixed": 3 if full else 2}
    figures: dict[str, Any] = {"ready_seconds": round(ours.ready_seconds, 2)}
    for name, requests in workloads.items():
        pairs = [(_timed(ours, requests), _timed(rival, requests)) for _ in range(rounds[name])]
        figures |= _figures(name, pairs)
    return figures


def _figures(name: str, pairs: list[tuple[Measured, Measured]]) -> dict[str, Any]:
    figures = {}
    for unit, suffix in (("tokens_per_second", "wall"), ("tokens_per_cpu_second", "cpu")):
        both = [(getattr(mine, unit), getattr(theirs, unit)) for mine, theirs in pairs]
        figures[f"{name}_{unit}"] = round(median(mine for mine, _ in both), 1)
        figures[f"{name}_{unit}_transformers"] = round(median(theirs for _, theirs in both), 1)
        ratios = sorted(mine / theirs for mine, theirs in both)
        figures[f"{name}_ratio_{suffix}"] = round(median(ratios), 3)
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
    return times.user + times.system


def _request(choice: random.Random, prompt: int, answer: int) -> Request:
    ids = [choice.randrange(5, VOCABULARY) for _ in range(prompt)]
    return Request(prompt=ids, max_tokens=answer)


def _smollm2() -> Path:
    """The converted SmolLM2; made once, about twenty seconds, and kept."""
    folder = Path(tempfile.gettempdir()) / "enginehouse-bench" / "SmolLM2-135M-Instruct"
    if (folder / "config.json").is_file():
        return folder
    command = [sys.executable, "-m", "workers.runtimes.native.gguf_to_hf", "--output", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, stdout=sys.stderr, stderr=subprocess.DEVNULL)
    return folder


def _environment(threads: int) -> dict[str, str]:
    offline = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"}
    return {**os.environ, **offline, "OMP_NUM_THREADS": str(threads)}


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _table(report: dict[str, Any]) -> str:
    return "\n".join(f"{name:44} {value}" for name, value in report.items())


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--full", action="store_true", help="longer answers, more rounds")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--model-dir", type=Path, help="default: SmolLM2 from its wheel")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
